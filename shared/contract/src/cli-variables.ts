/** What the command line reads from the environment, beside what the node itself does. */
interface CliVariable {
  readonly fallback: string;
  readonly meaning: string;
  readonly secret?: true;
}

export const CLI_VARIABLES = {
  SVC_URL: { fallback: 'http://127.0.0.1:3457, or the port in SVC_MCP_PORT', meaning: 'Address of the node.' },
  SVC_KEY: { fallback: 'SVC_API_KEY', meaning: 'Key of the node; its holder is the operator.', secret: true },
  SVC_TOKEN: { fallback: 'none', meaning: 'Token of an agent; comes before the key.', secret: true },
  SVC_SESSION: {
    fallback: 'cli',
    meaning: 'Session whose current brain and branch are meant; see docs/calls.md.',
  },
  VISUAL: { fallback: 'EDITOR, else vi', meaning: 'Editor of `svc edit`.' },
  NO_COLOR: { fallback: 'none', meaning: 'Anything: no colours.' },
} as const satisfies Record<string, CliVariable>;
