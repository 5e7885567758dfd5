# SPDX-License-Identifier: BSD-3-Clause
# Completion of asrpctl for fish; installed in vendor_completions.d. Commands and options are those that --help of this version has.

function __asrpctl_commands
    asrpctl --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1\t\2/p'
end

function __asrpctl_command
    set -l known (__asrpctl_commands | string split -f 1 \t)
    for word in (commandline -opc)[2..-1]
        if contains -- $word $known
            echo $word
            return 0
        end
    end
    return 1
end

function __asrpctl_options
    begin
        asrpctl --help
        asrpctl (__asrpctl_command) --help
    end 2>/dev/null | string match -rg '^  (?:-[a-z],)?(--[a-z][a-z-]*)' | sort -u
end

complete -c asrpctl -f
complete -c asrpctl -n 'not __asrpctl_command >/dev/null' -a '(__asrpctl_commands)'
complete -c asrpctl -n 'string match -q -- "-*" (commandline -ct)' -a '(__asrpctl_options)'
complete -c asrpctl -n 'test (__asrpctl_command) = log' -a 'debug info warning error'
complete -c asrpctl -n 'test (__asrpctl_command) = epochs; and test (commandline -opc)[-1] = epochs' -a 'export import'
complete -c asrpctl -n 'test (__asrpctl_command) = epochs; and test (commandline -opc)[-1] = import' -F
complete -c asrpctl -l socket -r -F
