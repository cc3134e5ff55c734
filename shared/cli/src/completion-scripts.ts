/**
 * What makes a shell ask `svc __complete` for the words that may come next: lines of word and meaning with a tab between, `:files`
 * where names of files fit. Nothing that was typed is ever evaluated.
 */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

const BASH = `# completion of svc for bash:  source <(svc completion bash)
_svc() {
  local line value
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null
      continue
    fi
    printf -v value %q "\${line%%$'\\t'*}"
    COMPREPLY+=("$value")
  done < <(svc __complete --breaks "$COMP_WORDBREAKS" --line "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _svc svc
`;

const ZSH = `#compdef svc
# completion of svc for zsh:  source <(svc completion zsh)
_svc() {
  local line files value meaning candidate
  local -a closed open
  for line in "\${(@f)$(svc __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=1
    elif [[ -n $line ]]; then
      value=\${line%%$'\\t'*}
      meaning=\${line#*$'\\t'}
      candidate=\${value//:/\\\\:}\${meaning:+:$meaning}
      if [[ $value == *= ]]; then open+=("$candidate"); else closed+=("$candidate"); fi
    fi
  done
  (( $#closed )) && _describe 'svc' closed
  (( $#open )) && _describe 'argument' open -S ''
  [[ -n $files ]] && _files
  return 0
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;

const FISH = `# completion of svc for fish:  svc completion fish | source
function __svc_complete
    set -l before (commandline -opc)
    for line in (svc __complete -- $before[2..-1] (commandline -ct) 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c svc -e
complete -c svc -f -a '(__svc_complete)'
`;

export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
