/** Tokens: what lets a program act as one agent. */
import { type Client, isRefusal, type Result } from '@svc/client/client.ts';
import { type CommandDeclaration, textArgument, textOption } from '../command.ts';
import { duration, moment, parseDuration } from '../moments.ts';
import { showObject, showRows } from '../output.ts';
import { Problem, UsageProblem } from '../problems.ts';
import { factsText } from '../result-text.ts';

export const tokenMintCommand: CommandDeclaration = {
  name: 'token mint',
  summary: 'Makes a token of an agent; it is shown this once.',
  args: [{ form: '<agent>', meaning: 'Id of the agent.' }],
  options: [
    { form: '--ttl <duration>', meaning: 'Life, such as 90s, 15m, 12h, 30d; default a day.' },
    { form: '--read-only', meaning: 'Only tools that change nothing.' },
    { form: '--profile <name>', meaning: 'Only the tools of this profile.' },
    { form: '--workspace <name>', meaning: 'The only workspace in which it acts.' },
    { form: '-q, --quiet', meaning: 'The token and nothing else.' },
  ],
  examples: ['svc token mint agt_… --ttl 12h', 'TOKEN=$(svc token mint agt_… -q) && SVC_TOKEN=$TOKEN svc status'],
  async run({ client, terminal, signal }, input) {
    const agentId = textArgument(input, 0) ?? '';
    const args = {
      agentId,
      ttlMs: lifeOf(textOption(input, 'ttl')),
      profile: textOption(input, 'profile'),
      workspace: textOption(input, 'workspace'),
      readOnly: input.options['readOnly'] === true,
    };
    try {
      const minted = await client.call('svc_habitat_mintToken', args, { signal });
      if (input.options['quiet'] === true) terminal.print(minted.token ?? '');
      else showObject(terminal, minted, () => mintedText(minted, (facts) => factsText(terminal, facts)));
    } catch (error) {
      if (!isRefusal(error, 'svc_habitat_mintToken', 'AGENT_NOT_FOUND')) throw error;
      throw await noSuchAgent(client, args, signal);
    }
  },
};

interface Wanted {
  readonly agentId: string;
  readonly workspace: string | undefined;
}

/** An agent that holds no role in the workspace is refused as one that is not there. */
async function noSuchAgent(client: Client, { agentId, workspace }: Wanted, signal: AbortSignal): Promise<Problem> {
  const places = workspace === undefined ? null : await workspacesOf(client, agentId, signal);
  if (places === null) return absent(agentId);
  return new Problem(`The agent ${agentId} has no role in a workspace ${workspace}.`, 'refused', [
    `It has one in: ${places.join(', ')}`,
  ]);
}

/** Where it holds a role; null = there is no such agent. */
async function workspacesOf(client: Client, agentId: string, signal: AbortSignal): Promise<readonly string[] | null> {
  const asked = await client.ask('svc_habitat_agentContext', { agentId }, { signal });
  return asked.ok ? asked.result.workspaces : null;
}

function absent(agentId: string): Problem {
  return new Problem(`There is no agent ${agentId}.`, 'refused', [
    'Agents there are: svc call agent_list. A new one: svc call agent_spawn name=scout',
  ]);
}

function lifeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms === null) throw new UsageProblem(`--ttl: "${text}" is no duration such as 90s, 15m, 12h or 30d.`);
  return ms;
}

type Facts = readonly (readonly [string, unknown])[];

function mintedText(minted: Result<'svc_habitat_mintToken'>, facts: (facts: Facts) => string): string {
  const { token, tokenId, agentId, workspace, roles, readOnly, profile, expiresAt, ttlMs } = minted;
  return facts([
    ['token', token],
    ['id', tokenId],
    ['agent', agentId],
    ['workspace', `${workspace} (${roles.join(', ')})`],
    ...(readOnly ? [['may', 'read only'] as const] : []),
    ...(profile === null ? [] : [['profile', profile] as const]),
    ['ends', `${moment(expiresAt)}, in ${duration(ttlMs)}`],
  ]);
}

type Token = Result<'svc_habitat_listTokens'>['tokens'][number];

export const tokenListCommand: CommandDeclaration = {
  name: 'token list',
  isDefault: true,
  summary: 'Lists tokens: your own, and those of workspaces that you administer.',
  options: [{ form: '--of <agent>', meaning: 'Of this agent alone.' }],
  examples: ['svc token list', 'svc token list --json | jq -r .tokenId'],
  async run({ client, terminal, signal }, input) {
    const agentId = textOption(input, 'of');
    const rows: Token[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.call('svc_habitat_listTokens', { agentId, cursor }, { signal });
      rows.push(...page.tokens);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    if (rows.length === 0 && agentId !== undefined && (await workspacesOf(client, agentId, signal)) === null)
      throw absent(agentId);
    showRows(terminal, rows, COLUMNS, 'No tokens.');
  },
};

const COLUMNS = [
  { title: 'TOKEN', value: ({ tokenId }: Token) => tokenId, paint: () => 'cyan' as const },
  { title: 'AGENT', value: ({ agentId }: Token) => agentId },
  { title: 'WORKSPACE', value: ({ workspace }: Token) => workspace ?? '' },
  {
    title: 'MAY',
    value: ({ readOnly, profile }: Token) => [readOnly ? 'read only' : '', profile ?? ''].join(' ').trim(),
  },
  {
    title: 'STATE',
    value: stateOf,
    paint: (token: Token) => (stateOf(token) === 'live' ? ('green' as const) : ('dim' as const)),
  },
  { title: 'ENDS', value: ({ expiresAt }: Token) => moment(expiresAt), paint: () => 'dim' as const },
];

function stateOf({ revokedAt, expiresAt }: Token): string {
  if (revokedAt !== undefined && revokedAt !== null) return 'revoked';
  return expiresAt <= Date.now() ? 'expired' : 'live';
}

export const tokenRevokeCommand: CommandDeclaration = {
  name: 'token revoke',
  summary: 'Ends a token for good.',
  args: [{ form: '<token>', meaning: 'Its id, its SHA-256 or the token itself.' }],
  examples: ['svc token revoke tok_…'],
  async run({ client, terminal, signal }, input) {
    const args = { tokenOrHash: textArgument(input, 0) ?? '' };
    const ended = await client.call('svc_habitat_revokeToken', args, { signal });
    if (!ended.revoked) throw new Problem('No such live token.', 'refused', ['Those there are: svc token list']);
    showObject(terminal, ended, () => `${terminal.paint('green', '✓')} revoked`);
  },
};
