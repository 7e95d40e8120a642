# Sourced at a session's start: hands $CLAUDE_PROJECT_DIR, quoted, to the session's own commands, which must know whose
# they are wherever they `cd`.

rest=$CLAUDE_PROJECT_DIR quoted=
while :; do
  case $rest in *\'*) ;; *) break ;; esac
  quoted=$quoted${rest%%\'*}"'\\''" rest=${rest#*\'}
done
{ printf "export A2A_PROJECT_DIR='%s'\n" "$quoted$rest" >>"$CLAUDE_ENV_FILE"; } 2>/dev/null
