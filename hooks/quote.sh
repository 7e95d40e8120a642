# Sourced at a session's start when $CLAUDE_PROJECT_DIR holds a quote: sets quoted to it, fit to stand in '…'.

rest=$quoted quoted=
while :; do
  case $rest in *\'*) ;; *) break ;; esac
  quoted=$quoted${rest%%\'*}"'\\''" rest=${rest#*\'}
done
quoted=$quoted$rest
