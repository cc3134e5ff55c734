/** The environment, read once at start: one table gives types, documentation, `.env.example` and start-up errors. */
import { CLI_VARIABLES } from '@svc/contract/cli-variables.ts';
import { nearestNames } from '@svc/contract/nearest.ts';
import { type SettingKey, settingVariables, settingValue } from '@svc/contract/settings.ts';
import { z } from 'zod';
import {
  apiKey,
  auditKey,
  bearer,
  brainName,
  count,
  list,
  onOff,
  plan,
  planLimits,
  port,
  text,
  trustedProxies,
} from './config-values.ts';
import { NODE_VARIABLES } from './config-node.ts';
import { RETENTION_VARIABLES } from './config-retention.ts';
import { SERVER_VARIABLES } from './config-servers.ts';
import { WINDOW_VARIABLES } from './config-windows.ts';
import { certificatesProblem, rawValue } from './config-raw.ts';
import { HOST_VARIABLES, SYNC_VARIABLES } from './config-sync.ts';
import { REMOTE_TOKEN, remoteTokensIn } from './config-remote.ts';
import { alike, misfit, secret, type Variable, variable } from './config-variable.ts';
import { StartProblem } from './start-problem.ts';

export const CONFIG_TABLE = {
  SVC_API_KEY: alike(
    'gateway',
    secret(
      apiKey.optional(),
      'Key that callers present; its holder is the operator. Without one the node serves this machine only.',
    ),
  ),
  SVC_KEYLESS: variable(
    onOff.default(false),
    'off',
    'Lets a gateway of a cluster start without SVC_API_KEY; it serves its own machine only.',
  ),
  SVC_API_KEY_PREVIOUS: alike(
    'gateway',
    secret(apiKey.optional(), 'The key before, accepted too while clients change over.'),
    'SVC_API_KEY',
  ),
  SVC_MCP_PORT: variable(port.default(3457), '3457', 'HTTP port of the gateway; 0 = any free one.'),
  SVC_BIND: variable(text.optional(), '127.0.0.1 without a key, else 0.0.0.0', 'Address the gateway listens on.'),
  SVC_HEALTH_PORT: variable(
    port.optional(),
    'any free one on a cluster, none embedded',
    'Port of /health, /ready and /metrics of this process, without credentials; 0 = any free one.',
  ),
  SVC_HEALTH_BIND: variable(
    text.default('127.0.0.1'),
    '127.0.0.1',
    'Address that SVC_HEALTH_PORT listens on; wider only in a network without strangers.',
  ),
  SVC_MODE: variable(
    z.enum(['cli', 'mcp', 'headless']).default('headless'),
    'headless',
    'What starts: the server, an interactive prompt, or the Model Context Protocol on stdin and stdout.',
  ),
  SVC_LINGER_MS: variable(
    count(0, 86_400_000).default(0),
    '0; 30000 for a node that `svc mcp` started',
    'A node that nobody is connected to any more ends itself so much later; 0 = never.',
  ),
  SVC_CONFORMANCE: variable(onOff.default(false), 'off', 'Conformance fixtures at /mcp/conformance; loopback only.'),
  SVC_DATA_DIR: variable(text.default('./data'), './data', 'Directory of the brains and, embedded, of the database.'),
  SVC_BRAIN: alike('brain', variable(brainName.default('svc'), 'svc', 'Default brain, created at first start.')),
  SVC_BRAINS_PER_HOME: variable(
    count(1, 10_000).default(16),
    '16',
    'Brains at home in one workspace, and brains that one agent and whom it spawned may make; operators may make more.',
  ),
  SVC_SEARCH_MEMORY_MIB: variable(
    count(16, 65_536).default(448),
    '448',
    'Memory that the search indexes of a process may take; files beyond are not searched, which health tells.',
  ),
  SVC_VECTOR_MEMORY_MIB: variable(
    count(1, 65_536).default(96),
    '96',
    'Memory that the vectors of passages may take in a process; those beyond are read or made again for each search.',
  ),
  SVC_EMBED_KEY: secret(bearer.optional(), 'Key that the endpoint at embed.url is given.'),
  SVC_CHAT_KEY: secret(bearer.optional(), 'Key that the endpoint at chat.url is given.'),
  SVC_LEGACY_DIR: variable(
    list.optional(),
    'none',
    'Directories of an old single-brain layout to import at start, separated by commas.',
  ),
  SVC_AGENT_ID: alike(
    'gateway',
    variable(text.max(100).optional(), 'none', 'Agent identity of an operator whose request names none.'),
  ),
  SVC_PLAN: alike(
    'gateway',
    variable(plan.default('enterprise'), 'enterprise', 'Rate plan of the key and of a keyless node.'),
  ),
  SVC_PLAN_LIMITS: alike(
    'gateway',
    variable(
      planLimits.optional(),
      'free=60,pro=600,enterprise=6000',
      'Requests of each plan within SVC_RATE_WINDOW_S.',
    ),
  ),
  ...WINDOW_VARIABLES,
  SVC_RATE_LIMIT: variable(onOff.default(true), 'on', 'Rate limits; off is honoured on a loopback bind only.'),
  SVC_GATEWAYS: alike(
    'gateway',
    variable(count(1, 1000).default(1), '1', 'How many gateways share a limit while Redis is away.'),
  ),
  SVC_ALLOWED_HOSTS: variable(
    list.optional(),
    'any with a key, loopback names without',
    'Host names that requests may name.',
  ),
  SVC_CORS_ORIGINS: variable(list.optional(), 'none', 'Web origins that may call.'),
  SVC_TRUST_PROXY: variable(
    trustedProxies.optional(),
    'nobody is believed',
    'Proxies whose X-Forwarded-For names the client: how many of them a request passes, or their networks.',
  ),
  SVC_MAX_CONNECTIONS: variable(
    count(16, 1_000_000).default(10_000),
    '10000',
    'Connections that a gateway has open at once.',
  ),
  SVC_MAX_CONNECTIONS_PER_ADDRESS: variable(
    count(1, 1_000_000).default(500),
    '500',
    'Connections, and event sockets, that one client address may have at a gateway.',
  ),
  SVC_DRAIN_WAIT_MS: variable(
    count(0, 20_000).optional(),
    '8000 on a cluster, 0 embedded',
    'How long a gateway stays open after SIGTERM, so that balancers notice; 25 s after it every process ends.',
  ),
  SVC_START_WAIT_MS: variable(
    count(0, 600_000).default(1000),
    '1000',
    'How long a process of a cluster waits at its start for NATS, Redis and PostgreSQL to be there.',
  ),
  SVC_AUDIT_KEY: alike(
    'habitat',
    secret(
      auditKey.optional(),
      'Key that signs the ends of the audit chains, 32 characters or more, or base64: and its bytes; every process of the registry needs the same. Without one, a key is made in the data directory.',
    ),
  ),
  SVC_AUDIT_KEY_ALSO: alike(
    'habitat',
    secret(
      auditKey.optional(),
      'A second key whose signatures under the audit count too, while one key takes the place of the other.',
    ),
    'SVC_AUDIT_KEY',
  ),
  SVC_AUDIT_PER_MINUTE: variable(
    count(0, 1_000_000).default(60),
    '60',
    'Entries that callers of one family may log with svc_audit_log within a minute.',
  ),
  SVC_AUDIT_PER_DAY: variable(
    count(0, 100_000_000).default(10_000),
    '10000',
    'Entries that callers may log in one workspace within a day (UTC); the last tenth is for its admins.',
  ),
  ...RETENTION_VARIABLES,
  SVC_UNIVERSE_SEED: alike(
    'universe',
    variable(
      z
        .string()
        .refine((seed) => seed !== '' && Buffer.byteLength(seed) <= 256 && !/\p{Cc}/u.test(seed), {
          message: 'must be 1-256 bytes without control characters',
        })
        .optional(),
      '',
      'Universe from which the seeds of worlds and crews follow, where a call names none; absent = the same on every node.',
    ),
  ),
  ...NODE_VARIABLES,
  SVC_NODE_ID: variable(text.max(64).optional(), 'host name', 'Name of this process in node lists and events.'),
  SVC_LOG_LEVEL: variable(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    'info',
    'Least level that is logged.',
  ),
  SVC_LOG_FORMAT: variable(
    z.enum(['auto', 'json', 'text']).default('auto'),
    'auto',
    'Form of the log: text for people, or JSON, a line each; auto is text at a terminal.',
  ),
  SVC_WATCHDOG_MS: variable(
    count(0, 3_600_000).default(30_000),
    '30000',
    'A process whose event loop stands still for so long ends itself, so that it is started again; 0 = never.',
  ),
  ...SERVER_VARIABLES,
  ...HOST_VARIABLES,
  SVC_BUBBLEWRAP: variable(
    text.default('bwrap'),
    'bwrap in PATH',
    'Path of bubblewrap, in which programs of callers run; without it none do.',
  ),
  ...SYNC_VARIABLES,
} as const satisfies Record<string, Variable<z.ZodType>>;

type Variables = { readonly [Name in keyof typeof CONFIG_TABLE]: z.output<(typeof CONFIG_TABLE)[Name]['schema']> };

/** Settings that this environment fixes, whatever is stored. */
export type FixedSettings = Readonly<Partial<Record<SettingKey, unknown>>>;

export type Config = Variables & {
  readonly fixed: FixedSettings;
  /** Tokens for other nodes, by the names of their variables. */
  readonly remoteTokens: ReadonlyMap<string, string>;
};

export class ConfigProblem extends StartProblem {}

/** Prefixes whose unknown variables are worth a warning: most likely a misspelt name. */
const OUR_PREFIX = /^SVC_/;

/**
 * Environment -> configuration. Throws ConfigProblem naming every variable that is wrong, never its value when secret.
 * A variable `X_FILE` gives the value of `X` from a file (secrets of containers).
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
): { config: Config; warnings: string[] } {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { schema }] of Object.entries(CONFIG_TABLE)) {
    const parsed = schema.safeParse(rawValue(name, environment, readFile, problems));
    if (parsed.success) values[name] = parsed.data;
    else problems.push(misfit(name, parsed.error));
  }
  problems.push(...problemsBetween(values, readFile));
  const fixed = fixedSettings((name) => rawValue(name, environment, readFile, problems), problems);
  const remoteTokens = remoteTokensIn(environment, (name) => rawValue(name, environment, readFile, problems), problems);
  if (problems.length > 0) throw new ConfigProblem(`The environment does not fit: ${problems.join(', ')}`);
  const names = [...Object.keys(CONFIG_TABLE), ...settingVariables().map(({ variable }) => variable)];
  const known = new Set([...names.flatMap((name) => [name, `${name}_FILE`]), ...Object.keys(CLI_VARIABLES)]);
  const unknown = Object.keys(environment).filter(
    (name) => OUR_PREFIX.test(name) && !known.has(name) && !REMOTE_TOKEN.test(name.replace(/_FILE$/, '')),
  );
  return {
    config: { ...(values as Variables), fixed, remoteTokens },
    warnings: unknown.map(
      (name) => `${name} is not a known variable and has no effect; nearest: ${nearestNames(name, names, 1).join('')}`,
    ),
  };
}

/** What no variable shows alone. */
function problemsBetween(values: Readonly<Record<string, unknown>>, readFile: (path: string) => string): string[] {
  const problems: string[] = [];
  if (values['SVC_API_KEY'] === undefined && values['SVC_API_KEY_PREVIOUS'] !== undefined)
    problems.push('SVC_API_KEY_PREVIOUS: opens nothing without SVC_API_KEY');
  const certificates = values['SVC_SYNC_CA_FILE'];
  const problem = typeof certificates === 'string' ? certificatesProblem(certificates, readFile) : null;
  if (problem !== null) problems.push(`SVC_SYNC_CA_FILE: ${problem}`);
  return problems;
}

function fixedSettings(rawOf: (variable: string) => string | undefined, problems: string[]): FixedSettings {
  const fixed: Partial<Record<SettingKey, unknown>> = {};
  for (const { key, variable } of settingVariables()) {
    const raw = rawOf(variable);
    if (raw === undefined) continue;
    const read = settingValue(key, raw);
    if (read.ok) fixed[key] = read.value;
    else problems.push(`${variable}: ${read.problem}`);
  }
  return fixed;
}

/** Also those that somebody set for the command line in the same shell. */
export function secretVariables(): string[] {
  const all = { ...CONFIG_TABLE, ...CLI_VARIABLES };
  return Object.entries(all).flatMap(([name, entry]) => ('secret' in entry ? [name] : []));
}
