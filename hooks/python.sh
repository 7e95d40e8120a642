# Sourced: run_light PROGRAM ARGUMENTS… runs one of the light programs with whatever python3 is here, nothing installed.
# $home is the folder that holds hooks/: a checkout, a plugin, a copy, or a2a_watch/share/ in site-packages.

run_light() {
  program=$1
  shift
  for base in "$home" "$home/../.." ''; do
    ! [ -f "$base/a2a_watch/light/$program.py" ] || break
  done
  [ "$base" ] || return 127
  for python in ${A2A_PYTHON:+"$A2A_PYTHON"} python3 /usr/bin/python3; do
    command -v "$python" >/dev/null || continue
    # 9: too old. A version manager's python3 may be missing in this folder, or be any version at all, or fail as it
    # likes; the drain itself never does.
    "$python" -I -S -c 'import sys
if sys.version_info < (3, 9): sys.exit(9)
sys.path.append(sys.argv.pop(1))
from a2a_watch.light.'"$program"' import main
sys.exit(main())' "$base" "$@"
    status=$?
    case $program:$status in *:9 | *:126 | *:127 | drain:[1-9] | drain:[1-9][0-9]) ;; *) return $status ;; esac
  done
  return 127
}
