/** What operations between services promise, on every bus. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CallError, Refusal } from '@svc/contract/codes.ts';
import { allow, type Decision, deny } from '@svc/contract/decision.ts';
import { defineOperations, OPERATION_SUBJECTS } from '@svc/contract/operation.ts';
import { type Bus, BusError, type BusErrorCode, type Subscription } from '@svc/runtime/bus.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { createLog } from '@svc/runtime/log.ts';
import {
  createOperationClient,
  type Handlers,
  type OperationContext,
  serveOperations,
} from '@svc/runtime/operations.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { BusPair } from './bus.contract.ts';

const Wish = z.strictObject({ what: z.string().max(10), times: z.int().default(1) });
const Heard = z.strictObject({ heard: z.string() });

/** A service of its own for each test, so that suites may share a server. */
function declare(service: string) {
  return defineOperations(service, {
    echo: { effect: 'read', question: Wish, answer: z.strictObject({ what: z.string(), times: z.int() }) },
    take: {
      effect: 'write-idempotent',
      question: Wish,
      answer: Heard,
      refuses: ['E_LIMIT', 'E_NOT_FOUND'],
      askers: ['market', 'agora'],
    },
    look: { effect: 'read', question: Wish, answer: Heard },
    repeat: { effect: 'write-idempotent', question: Wish, answer: Heard },
    write: { effect: 'write', question: Wish, answer: Heard },
    gather: { effect: 'write-idempotent', question: Wish, answer: Heard, refuses: ['E_LIMIT'], gathered: true },
  });
}
type Echo = ReturnType<typeof declare>;

/** What a handler does when it is asked for `what`. */
type Act = (what: string, context: OperationContext<{ readonly name: string }>) => Promise<unknown>;

interface Bed {
  readonly pair: BusPair;
  readonly operations: Echo;
  /** Bugs that were logged. */
  readonly logged: Record<string, unknown>[];
  /** Serves; every operation but `echo` answers what `act` says. */
  serve(act?: Act, process?: string): Promise<Subscription>;
}

export function describeOperations(name: string, open: (() => Promise<BusPair>) | null): void {
  describe.skipIf(open === null)(`operations: ${name}`, () => {
    let bed: Bed;
    beforeEach(async () => {
      bed = openBed((await open?.()) ?? fail());
    });
    afterEach(async () => {
      await Promise.all([bed.pair.requester.close(), bed.pair.responder.close()]);
    });
    const client = <const Asker extends string>(asker: Asker, bus: Pick<Bus, 'request'> = bed.pair.requester) =>
      createOperationClient({ bus, clock: systemClock }, bed.operations, asker);

    describeAnswers(() => bed, client);
    describeGathering(() => bed, client);
    describeFailures(() => bed, client);
    describeLosses(() => bed, client);
  });
}

function fail(): never {
  throw new Error('skipped');
}

function openBed(pair: BusPair): Bed {
  const operations = declare(`echo${randomUUID().slice(0, 8)}`);
  const logged: Record<string, unknown>[] = [];
  const log = createLog(
    'error',
    {},
    { write: (line: string) => void logged.push(JSON.parse(line) as Bed['logged'][0]) },
  );
  return {
    pair,
    operations,
    logged,
    serve(act = async (what) => ({ heard: what }), process) {
      const answer = async ({ what }: { what: string }, context: OperationContext<{ name: string }>) =>
        (await act(what, context)) as { heard: string };
      const handlers: Handlers<Echo, { name: string }> = {
        echo: async (wish) => wish,
        take: async ({ what }, context) => (await act(what, context)) as Decision<{ heard: string }, 'E_LIMIT'>,
        look: answer,
        repeat: answer,
        write: answer,
        gather: async ({ what }, context) => (await act(what, context)) as Decision<{ heard: string }, 'E_LIMIT'>,
      };
      return serveOperations(
        { bus: pair.responder, clock: systemClock, log },
        { operations, handlers, deps: { name: 'deps' }, ...(process === undefined ? {} : { process }) },
      );
    },
  };
}

type Client = <const Asker extends string>(
  asker: Asker,
  bus?: Pick<Bus, 'request'>,
) => ReturnType<typeof createOperationClient<Echo, Asker>>;

const failureOf = async (asked: Promise<unknown>): Promise<CallError> => {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof CallError) return error;
  throw new Error(`expected a CallError, got ${String(error)}`);
};

function describeAnswers(bed: () => Bed, client: Client): void {
  test('the question arrives parsed, with who asks, on whose behalf and until when', async () => {
    const contexts: unknown[] = [];
    await bed().serve(async (what, context) => {
      contexts.push(context);
      return { heard: what };
    });
    const market = client('market');
    expect(await market.echo({ what: 'x' })).toEqual({ what: 'x', times: 1 });
    const deadlineAt = Date.now() + 9000;
    await market.look({ what: 'x' }, { by: 'ada', operator: true, deadlineAt });
    await client('agora').look({ what: 'x' });
    const deps = { name: 'deps' };
    expect(contexts).toEqual([
      { deps, asker: 'market', by: 'ada', operator: true, deadlineAt },
      { deps, asker: 'agora', by: null, operator: false, deadlineAt: expect.any(Number) },
    ]);
  });

  test('an operation that may refuse answers a decision, whether its handler decides or throws', async () => {
    await bed().serve(async (what) => {
      if (what === 'thrown') throw new Refusal('E_LIMIT', { most: 3 }, 'At most three.');
      return what === 'no' ? deny('E_NOT_FOUND', { reason: 'gone' }) : allow({ heard: what });
    });
    const { take } = client('market');
    expect(await take({ what: 'yes' })).toEqual({ ok: true, value: { heard: 'yes' } });
    expect(await take({ what: 'no' })).toMatchObject({ ok: false, code: 'E_NOT_FOUND', details: { reason: 'gone' } });
    const thrown = { ok: false, code: 'E_LIMIT', message: 'At most three.', details: { most: 3 } };
    expect(await take({ what: 'thrown' })).toEqual(thrown);
    expect(bed().logged).toEqual([]);
  });

  test('one process is asked when it is named, any of them when none is', async () => {
    const processes = ['one', 'two'];
    for (const process of processes) await bed().serve(async () => ({ heard: process }), process);
    await bed().serve(async () => ({ heard: 'any' }));
    const { look } = client('market');
    for (const process of processes) expect(await look({ what: '' }, { process })).toEqual({ heard: process });
    expect(await look({ what: '' })).toEqual({ heard: 'any' });
    expect((await failureOf(look({ what: '' }, { process: 'three' }))).code).toBe('SERVICE_UNAVAILABLE');
  });
}

function describeGathering(bed: () => Bed, client: Client): void {
  /** Counts messages. */
  const counting = (sent: string[]): Pick<Bus, 'request'> => ({
    request(subject, payload, options) {
      sent.push(payload);
      return bed().pair.requester.request(subject, payload, options);
    },
  });

  test('what is asked for in one turn is one message, and each has an outcome of its own', async () => {
    const behalf: unknown[] = [];
    await bed().serve(async (what, { by, operator }) => {
      behalf.push([what, by, operator]);
      if (what === 'bug') throw new Error('a secret');
      return what === 'no' ? deny('E_LIMIT') : allow({ heard: what });
    });
    const sent: string[] = [];
    const { gather } = client('market', counting(sent));
    const asked = [
      gather({ what: 'a' }, { by: 'ada' }),
      gather({ what: 'no' }, { operator: true }),
      gather({ what: 'bug' }),
      gather({ what: 'longer than ten' }),
      gather({ what: 'b' }),
    ];
    const [a, no, bug, long, b] = await Promise.allSettled(asked);
    expect(sent).toHaveLength(1);
    expect(behalf).toEqual([
      ['a', 'ada', false],
      ['no', null, true],
      ['bug', null, false],
      ['b', null, false],
    ]);
    expect([a, no, b]).toMatchObject([
      { value: { value: { heard: 'a' } } },
      { value: { ok: false, code: 'E_LIMIT' } },
      { value: { value: { heard: 'b' } } },
    ]);
    expect([bug, long]).toMatchObject([{ reason: { code: 'INTERNAL' } }, { reason: { code: 'VAF_INPUT_INVALID' } }]);
  });

  test('of many at once no message has more than the bound, and one that comes later waits for none before', async () => {
    const first = Promise.withResolvers<void>();
    await bed().serve(async (what) => {
      if (what === 'slow') await first.promise;
      return allow({ heard: what });
    });
    const sent: string[] = [];
    const { gather } = client('market', counting(sent));
    const slow = gather({ what: 'slow' });
    await delay(5);
    await Promise.all(Array.from({ length: 130 }, (_, n) => gather({ what: String(n) })));
    expect(sent).toHaveLength(4);
    first.resolve();
    expect(await slow).toMatchObject({ ok: true });
  });

  test('when nobody is there each is told so', async () => {
    const { gather } = client('market');
    const codes = await Promise.all(['a', 'b'].map((what) => failureOf(gather({ what }))));
    expect(codes.map(({ code }) => code)).toEqual(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE']);
  });
}

function describeFailures(bed: () => Bed, client: Client): void {
  test('a question that does not fit is told what is wrong, and no handler sees it', async () => {
    const seen: string[] = [];
    await bed().serve(async (what) => {
      seen.push(what);
      return { heard: what };
    });
    const error = await failureOf(client('market').look({ what: 'longer than ten' }));
    expect(error).toMatchObject({ code: 'VAF_INPUT_INVALID', details: { problems: [{ path: 'what' }] } });
    expect([seen, bed().logged]).toEqual([[], []]);
  });

  test('what is not declared and what the asker may not ask is a typed failure', async () => {
    await bed().serve();
    const { service, declared } = bed().operations;
    const newer = defineOperations(service, { later: declared.look, take: declared.look });
    const asking = createOperationClient({ bus: bed().pair.requester, clock: systemClock }, newer, 'universe');
    expect((await failureOf(asking.later({ what: 'x' }))).code).toBe('TOOL_NOT_FOUND');
    expect((await failureOf(asking.take({ what: 'x' }))).code).toBe('FORBIDDEN');
    expect(Object.keys(client('universe')).sort()).toEqual(['echo', 'gather', 'look', 'repeat', 'write']);
  });

  test('a call error crosses as it was thrown', async () => {
    await bed().serve(async () => {
      throw new CallError('BRAIN_LOAD_FAIL', 'It is damaged.', { why: 'index' }, 500);
    });
    const error = await failureOf(client('market').look({ what: 'x' }));
    expect(error).toMatchObject({
      code: 'BRAIN_LOAD_FAIL',
      message: 'It is damaged.',
      details: { why: 'index' },
      status: 500,
    });
  });

  test.each<readonly [string, () => unknown]>([
    ['an error', () => Promise.reject(new Error('a secret'))],
    ['an answer of another form', () => ({ heard: 1 })],
    ['a refusal that is not declared', () => Promise.reject(new Refusal('E_LIMIT'))],
  ])('a bug of a handler, %s, is logged once with its operation and answered INTERNAL', async (_bug, act) => {
    await bed().serve(async () => act());
    const error = await failureOf(client('market').look({ what: 'x' }));
    expect([error.code, error.message.includes('secret')]).toEqual(['INTERNAL', false]);
    const operation = `${bed().operations.service}.look`;
    expect(bed().logged).toMatchObject([{ operation, asker: 'market', msg: 'an operation failed' }]);
  });

  test('a decision with a code that is not declared is a bug too', async () => {
    await bed().serve(async () => deny('E_FENCED'));
    expect((await failureOf(client('market').take({ what: 'x' }))).code).toBe('INTERNAL');
    expect(bed().logged).toHaveLength(1);
  });

  test('a database that is away is no bug', async () => {
    await bed().serve(() => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })));
    expect((await failureOf(client('market').look({ what: 'x' }))).code).toBe('SERVICE_UNAVAILABLE');
    expect(bed().logged).toEqual([]);
  });

  test('a disk that refuses with every question is told once', async () => {
    await bed().serve(() => Promise.reject(Object.assign(new Error('full'), { code: '53100' })));
    for (let round = 0; round < 3; round += 1)
      expect((await failureOf(client('market').look({ what: 'x' }))).code).toBe('SERVICE_UNAVAILABLE');
    expect(bed().logged).toHaveLength(1);
  });

  test('an answer that the asker’s declaration does not know is not taken for one', async () => {
    await bed().serve();
    const { service, declared } = bed().operations;
    const older = defineOperations(service, {
      look: { ...declared.look, answer: z.strictObject({ said: z.string() }) },
    });
    const asking = createOperationClient({ bus: bed().pair.requester, clock: systemClock }, older, 'market');
    await expect(asking.look({ what: 'x' })).rejects.toThrow('was answered by something else');
  });
}

/** A bus on which the first replies are lost after the work is done. */
function losing(bus: Bus, code: BusErrorCode, times: number): Pick<Bus, 'request'> {
  let left = times;
  return {
    async request(...asked) {
      const reply = await bus.request(...asked);
      left -= 1;
      if (left >= 0) throw new BusError(code, 'the reply is lost');
      return reply;
    },
  };
}

function describeLosses(bed: () => Bed, client: Client): void {
  const count = async (): Promise<readonly string[]> => {
    const seen: string[] = [];
    await bed().serve(async (what) => {
      seen.push(what);
      if (what === 'slow') await delay(150);
      return { heard: what === 'huge' ? 'x'.repeat(bed().pair.responder.maxPayloadBytes) : what };
    });
    return seen;
  };

  test('nobody there is SERVICE_UNAVAILABLE, unless somebody comes within a moment', async () => {
    const { look, write } = client('market');
    const unavailable = { code: 'SERVICE_UNAVAILABLE', details: { retryAfterMs: 1000 }, cause: { undelivered: true } };
    expect(await failureOf(look({ what: 'x' }))).toMatchObject(unavailable);
    expect(await failureOf(write({ what: 'x' }))).toMatchObject(unavailable);
    const asked = write({ what: 'x' });
    await delay(5);
    await bed().serve();
    expect(await asked).toEqual({ heard: 'x' });
  });

  test.each(['DISCONNECTED', 'SILENT'] as const)(
    'a reply lost as %s is asked for again where that does no harm',
    async (code) => {
      const seen = await count();
      const asking = () => client('market', losing(bed().pair.requester, code, 1));
      expect(await asking().look({ what: 'read' })).toEqual({ heard: 'read' });
      expect(await asking().repeat({ what: 'repeat' })).toEqual({ heard: 'repeat' });
      const unknown = await failureOf(asking().write({ what: 'write' }));
      expect(unknown).toMatchObject({ code: 'E_OUTCOME_UNKNOWN', cause: { code } });
      expect(seen).toEqual(['read', 'read', 'repeat', 'repeat', 'write']);
    },
  );

  test('replies that keep getting lost end as SERVICE_UNAVAILABLE', async () => {
    const seen = await count();
    const { look } = client('market', losing(bed().pair.requester, 'DISCONNECTED', 100));
    expect((await failureOf(look({ what: 'x' }))).code).toBe('SERVICE_UNAVAILABLE');
    expect(seen).toHaveLength(4);
  });

  test('a deadline that passes is TIMEOUT, of a write an unknown outcome, and nothing is asked twice', async () => {
    const seen = await count();
    const { look, repeat, write } = client('market');
    const soon = () => ({ deadlineAt: Date.now() + 60 });
    const slow = { what: 'slow' };
    const failures = await Promise.all([look, repeat, write].map((ask) => failureOf(ask(slow, soon()))));
    expect(failures.map(({ code }) => code)).toEqual(['TIMEOUT', 'TIMEOUT', 'E_OUTCOME_UNKNOWN']);
    expect(seen).toHaveLength(3);
  });

  test('who gave no deadline has waited long enough for a service that is then away', async () => {
    await count();
    const clock = { ...systemClock, now: () => Date.now() - 4900 };
    const { look } = createOperationClient({ bus: bed().pair.requester, clock }, bed().operations, 'market');
    expect((await failureOf(look({ what: 'slow' }))).code).toBe('SERVICE_UNAVAILABLE');
  });

  test('what arrives late is not begun, unless it only reads', async () => {
    const seen = await count();
    const late = JSON.stringify({ deadlineAt: Date.now() - 1, question: { what: 'late' } });
    const ask = async (name: string) => {
      const subject = OPERATION_SUBJECTS.one(bed().operations.service, 'market', name);
      return JSON.parse(
        await bed().pair.requester.request(subject, late, { deadlineAt: Date.now() + 9000 }),
      ) as unknown;
    };
    for (const name of ['write', 'repeat', 'take'])
      expect(await ask(name)).toMatchObject({ failure: { code: 'TIMEOUT' } });
    expect(await ask('look')).toEqual({ answer: { heard: 'late' } });
    expect(seen).toEqual(['late']);
  });

  test('what is too large to be told is said so, of a write as an unknown outcome', async () => {
    await count();
    const { look, write } = client('market');
    expect((await failureOf(look({ what: 'huge' }))).code).toBe('PAYLOAD_TOO_LARGE');
    expect((await failureOf(write({ what: 'huge' }))).code).toBe('E_OUTCOME_UNKNOWN');
    const asked = { what: 'x'.repeat(bed().pair.requester.maxPayloadBytes) };
    expect((await failureOf(write(asked))).code).toBe('PAYLOAD_TOO_LARGE');
  });
}
