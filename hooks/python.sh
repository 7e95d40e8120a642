# Sourced: a2a_python MODULE ARGUMENTS… runs one of the light programs with whatever python3 is here, nothing installed.
# $a2a_home is the folder that holds hooks/: a checkout, a plugin, a copy, or a2a_watch/share/ in site-packages.

a2a_python() {
  a2a_module=$1
  shift
  for a2a_base in "$a2a_home" "$a2a_home/../.." ''; do
    ! [ -f "$a2a_base/a2a_watch/light/$a2a_module.py" ] || break
  done
  [ -n "$a2a_base" ] || return 127
  for a2a_exe in ${A2A_PYTHON:+"$A2A_PYTHON"} python3 /usr/bin/python3; do
    # 9: too old. A version manager's python3 may be missing in this folder, or be any version at all.
    "$a2a_exe" -I -S -c 'import sys
if sys.version_info < (3, 9): sys.exit(9)
sys.path.append(sys.argv.pop(1))
from a2a_watch.light.'"$a2a_module"' import main
sys.exit(main())' "$a2a_base" "$@"
    a2a_status=$?
    case $a2a_status in 9 | 126 | 127) ;; *) return $a2a_status ;; esac
  done
  return 127
}
