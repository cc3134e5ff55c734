/** `verifies('requirement', scenario)`: a test that runs against the target of its project and proves requirements. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { SERVICE_NAMES } from '../deploy/services.ts';
import { Caller, type CallerOptions } from './client.ts';
import { EventSocket, type SocketOptions } from './instruments/event-socket.ts';
import { type Random, randomFrom } from './instruments/random.ts';
import { type RequirementId, behaviourOf } from './requirements.ts';
import { SEED } from './settings.ts';
import { type ClusterSize, gatewayProcess } from './targets/cluster.ts';
import { giveBack, giveBackAsleep, lendTarget, startTarget } from './targets/lent.ts';
import { countStartsFor, type ServiceProcess } from './targets/service-process.ts';
import { API_KEY, type Environment, type OwnTarget, type TargetKind, type TargetPlace } from './targets/target.ts';

/** What a scenario gets. Whatever it opens here is closed when it ends. */
export interface Scenario {
  readonly place: TargetPlace;
  readonly seed: number;
  readonly random: Random;
  /** A caller with a session of its own. */
  caller(options?: CallerOptions): Caller;
  /** A caller whose session is on a brain of its own. */
  fresh(options?: CallerOptions): Promise<{ user: Caller; brain: string }>;
  /** A connected event socket; by default with the target's key. */
  socket(options?: SocketOptions & { readonly gateway?: number }): Promise<EventSocket>;
  /** The target all files share, or its twin, where nobody but the holder of the key is the operator. */
  readonly keyed: TargetPlace;
  /** Gateways with settings of their own: on the cluster they join its services, embedded each is a node of its own. */
  gateways(count: number, environment: Environment): Promise<TargetPlace & { readonly processes: ServiceProcess[] }>;
  /** A line in the report of the run, for figures. */
  report(line: string): void;
}

interface VerifyOptions {
  /** A target of the file's own; otherwise the one all files share. */
  readonly on?: OwnTargetHandle;
  /** A behaviour that only this kind of target has. */
  readonly only?: TargetKind;
  readonly timeoutMs?: number;
  /** Tells apart several scenarios of one requirement. */
  readonly title?: string;
}

interface OwnTargetHandle {
  /** The only kind on which there is one; undefined = both. */
  readonly only: TargetKind | undefined;
  get(): OwnTarget;
}

/** Ends what hangs; many times what a scenario takes on a busy machine, because promised times are asserted, not cut off. */
const DEFAULT_TIMEOUT_MS = 300_000;

const MOST_OF_A_LINE = 3000;

interface Collected {
  /** Those that its scenarios name. */
  readonly requirements: RequirementId[];
  /** On the cluster it has one of its own. */
  hasOwnCluster: boolean;
}

/** What is found of a file while the coverage test collects, else null. */
let collected: Collected | null = null;

/** Imports a file of scenarios without running anything. */
export async function collectScenarios(importFile: () => Promise<unknown>): Promise<Readonly<Collected>> {
  collected = { requirements: [], hasOwnCluster: false };
  try {
    await importFile();
    return collected;
  } finally {
    collected = null;
  }
}

export function verifies(
  ids: RequirementId | readonly RequirementId[],
  run: (scenario: Scenario) => Promise<void>,
  { on, only = on?.only, timeoutMs, title }: VerifyOptions = {},
): void {
  const list = typeof ids === 'string' ? [ids] : ids;
  if (collected !== null) {
    collected.requirements.push(...list);
    return;
  }
  const name = `${list.join(' ')} — ${title ?? list.map(behaviourOf).join(' ')}`;
  test.skipIf(!isTargetThere(only))(name, { timeout: timeoutMs ?? DEFAULT_TIMEOUT_MS }, async () => {
    countStartsFor(thisFile());
    const place = on === undefined ? sharedPlace('target') : on.get().place;
    try {
      await run(scenarioOn(place));
    } catch (error) {
      if (on !== undefined) process.stderr.write(loggedErrors(on.get()));
      throw withReplay(error, list[0] ?? '');
    }
  });
}

/** Of a target that goes with its logs: why a call that failed did so. */
function loggedErrors({ everybody }: OwnTarget): string {
  return everybody
    .flatMap((one) => one.errors().map((line) => `${one.name}: ${line.slice(0, MOST_OF_A_LINE)}\n`))
    .join('');
}

/** What must be there before a target starts, and its settings. */
export interface Preparation {
  readonly environment: Environment;
  dispose(): Promise<void>;
}

interface OwnTargetOptions {
  /** As in VerifyOptions. */
  readonly only?: TargetKind;
  /** Nobody had it before and nobody gets it afterwards: for what counts everything, or cannot be mended. */
  readonly fresh?: ClusterSize;
  /** Services that have processes for themselves on a cluster, where a scenario ends or counts them; the brain unless told. */
  readonly apart?: readonly string[];
}

/** Each service by itself: what ends other services than the brain and the registry shares one cluster so divided. */
export const EACH_APART: readonly string[] = SERVICE_NAMES;
export const REGISTRY_APART: readonly string[] = ['brain', 'habitat'];

/** A target that the file may break, with these settings. It gets it whole and leaves it to be made whole again. */
export function ownTarget(
  settings: Environment | (() => Promise<Preparation>) = {},
  { only, fresh, apart }: OwnTargetOptions = {},
): OwnTargetHandle {
  let target: OwnTarget | null = null;
  let prepared: Preparation | null = null;
  if (collected !== null && only !== 'embedded') collected.hasOwnCluster = true;
  if (collected === null && isTargetThere(only)) {
    beforeAll(async () => {
      countStartsFor(thisFile());
      prepared = typeof settings === 'function' ? await settings() : { environment: settings, async dispose() {} };
      const kind = inject('targetKind');
      target = await (fresh === undefined
        ? lendTarget(kind, prepared.environment, apart)
        : startTarget(kind, prepared.environment, { ...fresh, ...(apart && { apart }) }));
    });
    afterAll(async () => {
      try {
        if (fresh !== undefined) await target?.stop();
        else if (target !== null) await giveBack(target, prepared?.environment ?? {}, apart);
      } finally {
        await prepared?.dispose();
      }
    });
  }
  return {
    only,
    get() {
      if (target === null) throw new Error('the target of this file did not start');
      return target;
    },
  };
}

function thisFile(): string {
  return expect.getState().testPath ?? '';
}

function sharedPlace(which: 'target' | 'keyed'): TargetPlace {
  const place = inject(which);
  if (place === null) throw new Error('no target');
  if (place === 'none') throw new Error('a scenario of this file uses what all share: take it out of BREAKING');
  return place;
}

function isTargetThere(only: TargetKind | undefined): boolean {
  return inject('target') !== null && (only === undefined || only === inject('targetKind'));
}

function scenarioOn(place: TargetPlace): Scenario {
  const random = randomFrom(SEED);
  return {
    place,
    seed: SEED,
    random,
    caller: (options) => new Caller(place, options),
    async fresh(options) {
      const user = new Caller(place, options);
      const brain = newName('b');
      await user.ok('brain_switch', { name: brain, create: true });
      return { user, brain };
    },
    async socket({ gateway = 0, ...options } = {}) {
      const auth = options.auth ?? (place.key === null ? {} : { apiKey: place.key });
      const socket = await EventSocket.connect(new Caller(place, { gateway }).url(), { ...options, auth });
      onTestFinished(() => socket.close());
      return socket;
    },
    get keyed() {
      return sharedPlace('keyed');
    },
    gateways: (count, environment) => openGateways(place, count, environment),
    report(line) {
      process.stdout.write(`[${place.kind}] ${line}\n`);
    },
  };
}

/** A name that no other scenario has. */
export function newName(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

async function openGateways(
  place: TargetPlace,
  count: number,
  environment: Environment,
): Promise<TargetPlace & { readonly processes: ServiceProcess[] }> {
  const key = environment['SVC_API_KEY'] ?? null;
  if (place.servers === null) {
    const node = await lendTarget('embedded', environment);
    if (node === null) throw new Error('a node needs no servers');
    onTestFinished(() => giveBackAsleep(node), 60_000);
    return { ...node.place, key, processes: [...node.gateways] };
  }
  const ground = { ...place, servers: place.servers };
  const processes = await Promise.all(
    Array.from({ length: count }, () => gatewayProcess(ground, newName('gateway'), environment)),
  );
  onTestFinished(async () => {
    await Promise.all(processes.map((one) => one.dispose()));
  }, 60_000);
  await Promise.all(processes.map((one) => one.start()));
  return { ...place, key, gateways: processes.flatMap(({ url }) => url ?? []), processes };
}

export const KEYED: Environment = { SVC_API_KEY: API_KEY };

function withReplay(error: unknown, id: string): Error {
  const wrapped = error instanceof Error ? error : new Error(String(error));
  const project = `e2e-${inject('targetKind')}`;
  wrapped.message += `\n  seed ${SEED}; again: E2E_SEED=${SEED} node toolchain/run.mjs node_modules/vitest/vitest.mjs run --project ${project} -t '${id}'`;
  return wrapped;
}
