/** What the exit code of `svc` tells a script. */
export const EXIT_CODES = {
  ok: [0, 'Done.'],
  failed: [1, 'Something is wrong here or in the node; the sentence says what.'],
  usage: [2, 'The command is written wrongly: an unknown command, tool or argument, a value that does not fit.'],
  refused: [3, 'The tool said no. With `--json` the code of the refusal is on stderr.'],
  unreachable: [4, 'No node answers at the address.'],
  denied: [5, 'The credential is missing, wrong, or not enough.'],
  later: [6, 'Not now: nothing was changed, and the same command may work in a moment.'],
  unknown: [7, 'Whether the change happened is not known.'],
  interrupted: [130, 'Ended by Ctrl-C.'],
  closed: [141, 'Whoever read the output went away.'],
} as const satisfies Record<string, readonly [number, string]>;

export type ExitName = keyof typeof EXIT_CODES;

export const exitCode = (name: ExitName): number => EXIT_CODES[name][0];
