# Sourced when a session starts ($CLAUDE_ENV_FILE is there). Its own commands must know whose they are, wherever they
# `cd`, and a one-shot that one of them starts must not take its mail. The line begins with a line end, for another
# hook may not have ended its own.

quoted=$CLAUDE_PROJECT_DIR
case $quoted in
  *\'*) ;;
  ?*)
    { printf "\nexport A2A_PROJECT_DIR='%s' A2A_UNATTENDED=\n" "$quoted" >>"$CLAUDE_ENV_FILE"; } 2>/dev/null
    return 0
    ;;
  *) return 0 ;;
esac
rest=$quoted quoted=
while :; do
  case $rest in *\'*) ;; *) break ;; esac
  quoted=$quoted${rest%%\'*}"'\\''" rest=${rest#*\'}
done
{ printf "\nexport A2A_PROJECT_DIR='%s' A2A_UNATTENDED=\n" "$quoted$rest" >>"$CLAUDE_ENV_FILE"; } 2>/dev/null
