# Sourced by any POSIX sh: sets agent and inbox (its folder), or leaves both empty. Why it looks like this: at the end.

LC_ALL=C
judge() {
  case $agent in
    '' | . | .. | ' '* | *' ' | *[!a-zA-Z0-9\ ._+@~=:,-]*) ;;
    *) case $inbox:$HOME in /*:/*) [ ${#agent} -gt 200 ] || { inbox=$inbox/$agent; return; } ;; esac ;;
  esac
  agent='' inbox=''
}

agent=$CLAUDE_AGENT_ID inbox=${A2A_INBOX:-$HOME/.claude/inbox} top=${CLAUDE_PROJECT_DIR:-${A2A_PROJECT_DIR:-.}}
case ${agent:+known}$top in
  /* | .)
    if [ -x "$top/." ] && cd -P "$top" && [ -d .git ] && ! [ -e .agent-id ] && ! [ -L .agent-id ]; then
      agent=${PWD##*/}
    fi
    ;;
esac
if [ "$agent" ]; then
  judge
  return 0
fi

while :; do
  case $top in /* | .) [ -x "$top/." ] && cd -P "$top" || break ;; *) break ;; esac
  # In a deleted folder some shells go on with a name that is no path.
  case $PWD in /*) up=$PWD ;; *) break ;; esac
  until [ -z "$up" ] || [ -d "$up/.git" ] || [ -f "$up/.git" ]; do up=${up%/*}; done
  file=${up:-$PWD}/.agent-id agent=${up##*/}
  if [ -z "$up" ] && [ -e /.git ]; then file=/; fi
  if ! [ -e "$file" ] && ! [ -L "$file" ]; then
    [ -z "$up" ] || break
    file=$HOME/.claude/agent-id agent=unknown
    # Not there, and not only out of sight?
    if [ -x "$HOME/.claude/." ] && ! [ -e "$file" ] && ! [ -L "$file" ]; then break; fi
  fi
  agent=
  # An empty first line is for Python, which goes on to the next rule.
  if [ -f "$file" ] && [ -r "$file" ]; then IFS= read -r agent <"$file"; fi
  break
done
judge

# Sure or silent: what this names, a2a_watch/light/identity.py names too; on any doubt Python decides.
# Builtins alone, the plain case first, and no comment before it: this runs at every prompt of every session, a shell
# reads no further than it gets, and it reads comments too.
# LC_ALL: in some locales [a-z] holds more than its letters.
