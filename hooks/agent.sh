# Sourced, by any POSIX sh: sets a2a_agent to this session's agent and a2a_inbox to its folder, or leaves both empty.
# Sure or silent: it works out the plain case of the five rules, starts no process, changes nothing, and whatever it
# names, a2a_watch/identity.py names too. On any doubt Python decides.

a2a_plain=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789' ._+@~=:#%,-'

a2a_is_sure() {
  # No ranges: in some locales [a-z] holds more than its letters.
  case $1 in '' | . | .. | ' '* | *' ' | *[!$a2a_plain]*) return 1 ;; esac
  [ ${#1} -le 200 ]
}

a2a_first_line() {
  a2a_line=
  if [ -f "$1" ] && [ -r "$1" ]; then
    IFS= read -r a2a_line <"$1"
    [ -z "$a2a_line" ] || a2a_is_sure "$a2a_line"
  else
    ! [ -e "$1" ] && ! [ -L "$1" ]
  fi
}

a2a_name() {
  [ -z "${CLAUDE_AGENT_ID:-}" ] || { a2a_name=$CLAUDE_AGENT_ID; return; }
  a2a_start=${CLAUDE_PROJECT_DIR:-${A2A_PROJECT_DIR:-}}
  if [ -z "$a2a_start" ]; then
    cd -P . 2>/dev/null || return 1
    a2a_start=$PWD
  fi
  case $a2a_start/ in [!/]* | *//* | */./* | */../*) return 1 ;; esac
  [ -d "$a2a_start" ] || return 1
  a2a_root=
  a2a_folder=$a2a_start
  while [ -n "$a2a_folder" ]; do
    ! [ -L "$a2a_folder" ] || return 1
    if [ -z "$a2a_root" ] && { [ -d "$a2a_folder/.git" ] || [ -f "$a2a_folder/.git" ]; }; then
      a2a_root=$a2a_folder
    fi
    a2a_folder=${a2a_folder%/*}
  done
  ! [ -e /.git ] || return 1
  a2a_first_line "${a2a_root:-$a2a_start}/.agent-id" || return 1
  a2a_name=${a2a_line:-${a2a_root##*/}}
  [ -z "$a2a_name" ] || return 0
  case ${HOME:-} in /*) a2a_first_line "$HOME/.claude/agent-id" ;; *) return 1 ;; esac || return 1
  a2a_name=${a2a_line:-unknown}
}

a2a_agent='' a2a_inbox='' a2a_name=''
if a2a_name && a2a_is_sure "$a2a_name"; then
  case ${A2A_INBOX:-${HOME:-}} in
    /*) a2a_agent=$a2a_name a2a_inbox=${A2A_INBOX:-$HOME/.claude/inbox}/$a2a_name ;;
  esac
fi
