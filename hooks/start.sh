# Sourced when a session starts ($CLAUDE_ENV_FILE is there): its own commands must know whose they are, wherever they `cd`.

quoted=$CLAUDE_PROJECT_DIR
case $quoted in
  *\'*)
    rest=$quoted quoted=
    while :; do
      case $rest in *\'*) ;; *) break ;; esac
      quoted=$quoted${rest%%\'*}"'\\''" rest=${rest#*\'}
    done
    quoted=$quoted$rest
    ;;
esac
# Another hook's line before this one may not have been ended.
[ -z "$quoted" ] || { printf "\nexport A2A_PROJECT_DIR='%s'\n" "$quoted" >>"$CLAUDE_ENV_FILE"; } 2>/dev/null
