# SPDX-License-Identifier: BSD-3-Clause
# Completion of asrpctl for bash; installed as asrpctl in bash-completion's directory. Commands and options are those that --help
# of this version has.

_asrpctl_commands() {
  asrpctl --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'
}

_asrpctl_options() {
  asrpctl "$@" --help 2>/dev/null | sed -n 's/^  \(-[a-z],\)\{0,1\}\(--[a-z][a-z-]*\).*/\2/p'
}

_asrpctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command= word i
  local commands
  commands=$(_asrpctl_commands)
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ ${COMP_WORDS[i - 1]} != --socket && " ${commands//$'\n'/ } " == *" $word "* ]]; then
      command=$word
      break
    fi
  done
  case $previous in
    --socket)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null
      return
      ;;
    --proto)
      mapfile -t COMPREPLY < <(compgen -W "tcp udp" -- "$current")
      return
      ;;
    --by)
      mapfile -t COMPREPLY < <(compgen -W "sessions octets" -- "$current")
      return
      ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_asrpctl_options) $([[ -n $command ]] && _asrpctl_options "$command")" -- "$current")
  elif [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  elif [[ $command == epochs && $previous == import ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  elif [[ $command == epochs && $previous == epochs ]]; then
    mapfile -t COMPREPLY < <(compgen -W "export import" -- "$current")
  elif [[ $command == log ]]; then
    mapfile -t COMPREPLY < <(compgen -W "debug info warning error" -- "$current")
  fi
}

complete -F _asrpctl asrpctl
