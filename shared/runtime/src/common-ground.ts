/** What all processes of a service need alike, and how one that starts finds out that it is in the wrong place. */
import { hash } from 'node:crypto';
import { type CommonGround, DATABASE, SUBJECTS } from '@svc/contract/discovery.ts';
import { SETTINGS, settingVariables } from '@svc/contract/settings.ts';
import { BusError, type Subscription } from './bus.ts';
import { CONFIG_TABLE, type Config } from './config.ts';
import type { Alike } from './config-variable.ts';
import type { StatelessPlatform } from './platform.ts';
import { StartProblem } from './start-problem.ts';

type GroundPlatform = Pick<StatelessPlatform, 'bus' | 'clock' | 'config' | 'node' | 'servers'>;

/** Enough to tell two values apart, and too little to find out what a secret is. */
const DIGEST_CHARACTERS = 5;
const ANSWER_WITHIN_MS = 2000;

/** A server that does not answer now is left out. */
export function readCommonGround(
  platform: Pick<GroundPlatform, 'config' | 'servers'>,
  service: string,
): Promise<CommonGround> {
  return createGroundReader(platform, service)();
}

/**
 * To be read again and again. Redis has another id when it was started again, and each process sees that when it looks next:
 * the id before counts beside the one it has now.
 */
export function createGroundReader(
  { config, servers }: Pick<GroundPlatform, 'config' | 'servers'>,
  service: string,
): () => Promise<CommonGround> {
  const known = new Map<string, readonly string[]>();
  return async () => {
    const ground: Record<string, readonly string[]> = {};
    for (const [name, id] of Object.entries(await servers())) {
      const digest = digestOf(id);
      const [last = digest, ...earlier] = known.get(name) ?? [];
      const digests = digest === last ? [last, ...earlier] : [digest, last];
      known.set(name, digests);
      ground[name] = digests;
    }
    return { ...ground, ...variablesOf(config, service) };
  };
}

function variablesOf(config: Config, service: string): CommonGround {
  const ground: Record<string, string[]> = {};
  for (const [name, { alike }] of Object.entries<{ readonly alike?: Alike }>(CONFIG_TABLE)) {
    if (alike?.service !== service) continue;
    const value = config[name as keyof typeof CONFIG_TABLE];
    if (alike.besides === undefined) ground[name] = [digestOf(value)];
    else if (value !== undefined) ground[alike.besides]?.push(digestOf(value));
  }
  for (const { key, variable } of settingVariables())
    if (SETTINGS[key].service === service) ground[variable] = [digestOf(config.fixed[key])];
  return ground;
}

function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value ?? null), 'hex').slice(0, DIGEST_CHARACTERS);
}

/**
 * Asked before anything is written. Throws StartProblem when a process of the service that runs keeps its rows in another
 * database: each would answer a share of the calls, and neither would know what the other one did.
 */
export async function joinCommonGround(platform: GroundPlatform, service: string): Promise<void> {
  const own = (await readCommonGround(platform, service))[DATABASE];
  const theirs = own === undefined ? null : await askOther(platform, service);
  const its = theirs?.ground[DATABASE];
  if (own === undefined || theirs === null || its === undefined || own.some((one) => its.includes(one))) return;
  throw new StartProblem(
    `${DATABASE}: this is not the database in which ${theirs.node} keeps what ${service} knows: all processes of a service share one`,
  );
}

/** Those that start later find out from this process. */
export function tellCommonGround(platform: GroundPlatform, service: string): Promise<Subscription> {
  const answer = async (): Promise<string> =>
    JSON.stringify({ node: platform.node.nodeId, ground: await readCommonGround(platform, service) });
  return platform.bus.respond(SUBJECTS.common(service), answer, { queue: service });
}

interface Other {
  readonly node: string;
  readonly ground: CommonGround;
}

/** Null when nobody is there, or only who is older than the question. */
async function askOther({ bus, clock }: GroundPlatform, service: string): Promise<Other | null> {
  try {
    const deadlineAt = clock.now() + ANSWER_WITHIN_MS;
    return JSON.parse(await bus.request(SUBJECTS.common(service), '', { deadlineAt, isRepeatable: true })) as Other;
  } catch (error) {
    if (error instanceof BusError) return null;
    throw error;
  }
}
