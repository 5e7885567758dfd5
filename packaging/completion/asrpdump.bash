# SPDX-License-Identifier: BSD-3-Clause
# Completion of asrpdump for bash; installed as asrpdump in bash-completion's directory.

_asrpdump_interfaces() {
  asrpdump -D 2>/dev/null | sed 's/^[0-9]*\.\([^ ]*\).*/\1/'
}

_asrpdump() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case $previous in
    -r | --read | -w | --write)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null
      return
      ;;
    -i | --interface)
      mapfile -t COMPREPLY < <(compgen -W "$(_asrpdump_interfaces)" -- "$current")
      return
      ;;
    -Z | --relinquish-privileges)
      mapfile -t COMPREPLY < <(compgen -u -- "$current")
      return
      ;;
    --color)
      mapfile -t COMPREPLY < <(compgen -W "always never auto" -- "$current")
      return
      ;;
    -s | --snapshot-length | -B | --buffer-size | --port | --exid | --tcp-kind | --udp-kind | --tunnels | -C | -G | -W | -c | \
      --ladder-limit | --session | --max-sessions)
      return
      ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "-r --read -i --interface -D --list-interfaces -p --no-promiscuous-mode --promiscuous
      -s --snapshot-length -B --buffer-size --immediate-mode --nano -Z --relinquish-privileges --port --exid --tcp-kind --udp-kind
      --tunnels -w --write --print -C -G -W -U --packet-buffered -c -l --line-buffered --json -t -tt -ttt -tttt -ttttt -n -N
      -v --verbose -x -xx -X -XX -# --number -q --quiet --color --sessions --stats --check --ladder --ladder-limit --session --max-sessions
      -h --help --version" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}

complete -F _asrpdump asrpdump
