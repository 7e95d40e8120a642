#!/bin/bash
# Shows what waits for this agent and archives it, the way people write it by hand.
shopt -s nullglob
me=$("${BASH_SOURCE%/*}/a2a-id")
inbox=$HOME/.claude/inbox/$me
waiting=("$inbox"/*.json)
[[ ${#waiting[@]} -gt 0 ]] || exit 0
mkdir -p "$inbox/.read"
printf '## A2A inbox (%s) - %d message(s) pending\n' "$me" "${#waiting[@]}"
for file in "${waiting[@]}"; do
  jq -r '"", "**From:** \(.from)  ", "**At:** \(.timestamp)  ", "**Subject:** \(.subject // "(none)")", "", .body, ""' "$file"
  mv "$file" "$inbox/.read/"
done
