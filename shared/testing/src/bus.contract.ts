/** What every bus promises. `bus.local` and `bus.nats` both pass this suite. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError } from '@svc/runtime/bus.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Two ends of one bus; on a local bus both may be the same. */
export interface BusPair {
  readonly requester: Bus;
  readonly responder: Bus;
}

const FAR_MS = 30_000;
const inTime = () => ({ deadlineAt: Date.now() + FAR_MS });
const echo = async (payload: string) => payload;

/** A subject nobody else uses, so that suites may share a server, below the name of the group whose members answer. */
function ownSubject(): string {
  return `test.t${randomUUID().replaceAll('-', '')}`;
}

async function failure(call: Promise<unknown>): Promise<BusError> {
  const outcome = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (outcome instanceof BusError) return outcome;
  throw new Error(`expected a BusError, got ${String(outcome)}`);
}

async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(2);
}

/** `createPair` null: the suite is skipped, visibly. */
export function describeBus(name: string, createPair: (() => Promise<BusPair>) | null): void {
  describe.skipIf(createPair === null)(`bus: ${name}`, () => {
    const open = async () => {
      if (createPair === null) throw new Error('skipped');
      return createPair();
    };
    describeRequests(open);
    describeMessages(open);
    describeLimits(open);
    describeEnds(open);
  });
}

type Open = () => Promise<BusPair>;

/** One pair for all tests of a group. */
function sharedPair(open: Open): BusPair {
  let pair: BusPair | undefined;
  beforeAll(async () => {
    pair = await open();
  });
  afterAll(async () => {
    await Promise.all([pair?.requester.close(), pair?.responder.close()]);
  });
  const current = () => {
    if (pair === undefined) throw new Error('the pair is opened in beforeAll');
    return pair;
  };
  return {
    get requester() {
      return current().requester;
    },
    get responder() {
      return current().responder;
    },
  };
}

function describeRequests(open: Open): void {
  describe('requests', () => {
    const pair = sharedPair(open);

    test('reach a responder known when respond() resolves, which sees payload and subject', async () => {
      const subject = ownSubject();
      await pair.responder.respond(`${subject}.*`, async (payload, actual) => `${actual}=${payload}`);
      expect(await pair.requester.request(`${subject}.a`, 'x', inTime())).toBe(`${subject}.a=x`);
    });

    test.each([
      ['nothing', '', ''],
      ['every plane of Unicode', 'aé€😀\u0000\r\n', 'aé€😀\u0000\r\n'],
      ['a leading byte order mark', '\uFEFFa', '\uFEFFa'],
      ['half a surrogate pair, which UTF-8 cannot say', 'a\uD800b', 'a\uFFFDb'],
    ])('carry %s', async (_what, sent, received) => {
      const subject = ownSubject();
      const heard: string[] = [];
      await pair.responder.respond(subject, async (payload) => {
        heard.push(payload);
        return sent;
      });
      expect(await pair.requester.request(subject, sent, inTime())).toBe(received);
      expect(heard).toEqual([received]);
    });

    test('of one moment, 1,000 of them, are spread over a queue group of three and answered once each', async () => {
      const subject = ownSubject();
      const counts = [0, 0, 0];
      for (const member of counts.keys()) {
        const handler = async (payload: string) => {
          counts[member] = (counts[member] ?? 0) + 1;
          await delay(1);
          return payload;
        };
        await pair.responder.respond(subject, handler, { queue: 'group' });
      }
      const numbers = Array.from({ length: 1000 }, (_, index) => String(index));
      const replies = await Promise.all(numbers.map((number) => pair.requester.request(subject, number, inTime())));
      expect(replies).toEqual(numbers);
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1000);
      for (const count of counts) expect(count).toBeGreaterThan(200);
    });

    test('to a responder that says nothing run into their deadline', async () => {
      const subject = ownSubject();
      await pair.responder.respond(subject, async () => null);
      const error = await failure(pair.requester.request(subject, 'x', { deadlineAt: Date.now() + 100 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', undelivered: false });
    });

    test('without a responder fail at once, certainly undelivered', async () => {
      const error = await failure(pair.requester.request(ownSubject(), 'x', inTime()));
      expect(error).toMatchObject({ code: 'NO_RESPONDERS', undelivered: true });
    });

    test('without a reply fail at their deadline, perhaps delivered; a late reply disturbs nobody', async () => {
      const subject = ownSubject();
      let answer: (reply: string) => void = () => {};
      await pair.responder.respond(subject, (payload) =>
        payload === 'late' ? new Promise((resolve) => (answer = resolve)) : echo(payload),
      );
      const error = await failure(pair.requester.request(subject, 'late', { deadlineAt: Date.now() + 60 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', undelivered: false });
      answer('too late');
      const replies = await Promise.all(['a', 'b', 'c'].map((text) => pair.requester.request(subject, text, inTime())));
      expect(replies).toEqual(['a', 'b', 'c']);
    });

    test('never fail before their deadline', async () => {
      const subject = ownSubject();
      await pair.responder.respond(subject, () => delay(200, ''));
      const deadlineAt = Date.now() + 80;
      await failure(pair.requester.request(subject, 'x', { deadlineAt }));
      expect(Date.now()).toBeGreaterThanOrEqual(deadlineAt);
    });

    test('that are late already are not sent', async () => {
      const subject = ownSubject();
      const heard: string[] = [];
      await pair.responder.respond(subject, async (payload) => {
        heard.push(payload);
        return '';
      });
      const error = await failure(pair.requester.request(subject, 'late', { deadlineAt: Date.now() - 1 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', undelivered: true });
      await pair.requester.request(subject, 'in time', inTime());
      expect(heard).toEqual(['in time']);
    });

    test('never run their handler in the caller’s stack', async () => {
      const subject = ownSubject();
      let running = false;
      await pair.responder.respond(subject, async () => {
        running = true;
        return '';
      });
      const reply = pair.requester.request(subject, 'x', inTime());
      expect(running).toBe(false);
      await reply;
      expect(running).toBe(true);
    });

    test('go on after a handler that threw', async () => {
      const subject = ownSubject();
      await pair.responder.respond(subject, async (payload) => {
        if (payload === 'bug') throw new Error('a bug');
        return payload;
      });
      const bug = failure(pair.requester.request(subject, 'bug', { deadlineAt: Date.now() + 50 }));
      expect(await pair.requester.request(subject, 'fine', inTime())).toBe('fine');
      expect((await bug).code).toBe('TIMEOUT');
    });

    test.each(['', 'a..b', 'a b', '.a', 'a.', 'a.*', 'a.>', 'a\r\nPUB b 0'])(
      'refuse the subject "%s"',
      async (subject) => {
        await expect(pair.requester.request(subject, 'x', inTime())).rejects.toThrow(RangeError);
      },
    );
  });
}

function describeMessages(open: Open): void {
  describe('messages', () => {
    const pair = sharedPair(open);

    test('arrive in the order of their publisher', async () => {
      const subject = ownSubject();
      const heard: string[] = [];
      await pair.responder.subscribe(subject, (payload) => heard.push(payload));
      const sent = Array.from({ length: 500 }, (_, index) => String(index));
      for (const payload of sent) pair.requester.publish(subject, payload);
      await eventually(() => heard.length === sent.length);
      expect(heard).toEqual(sent);
    });

    test('reach every subscriber, and one of each queue group', async () => {
      const subject = ownSubject();
      const heard: string[] = [];
      for (const id of ['one', 'two']) await pair.responder.subscribe(subject, () => heard.push(id));
      for (const queue of ['red', 'red', 'blue']) {
        await pair.responder.subscribe(subject, () => heard.push(queue), { queue });
      }
      pair.requester.publish(subject, 'x');
      await eventually(() => heard.length >= 4);
      pair.requester.publish(subject, 'y');
      await eventually(() => heard.length >= 8);
      expect(heard.sort()).toEqual(['blue', 'blue', 'one', 'one', 'red', 'red', 'two', 'two']);
    });

    test.each([
      ['*', ['a', 'b']],
      ['a.*', ['a.b', 'a.c']],
      ['a.>', ['a.b', 'a.c', 'a.b.c']],
      ['*.b', ['a.b']],
      ['*.*.c', ['a.b.c']],
      ['a.b', ['a.b']],
      ['>', ['a', 'b', 'a.b', 'a.c', 'a.b.c']],
    ])('match the pattern %s', async (pattern, expected) => {
      const root = ownSubject();
      const heard: string[] = [];
      await pair.responder.subscribe(`${root}.${pattern}`, (_payload, subject) => heard.push(subject));
      await pair.responder.subscribe(`${root}-end`, () => heard.push('end'));
      for (const subject of ['a', 'b', 'a.b', 'a.c', 'a.b.c']) pair.requester.publish(`${root}.${subject}`, '');
      pair.requester.publish(root, '');
      pair.requester.publish(`${root}-end`, '');
      await eventually(() => heard.includes('end'));
      expect(heard).toEqual([...expected.map((subject) => `${root}.${subject}`), 'end']);
    });

    test('are heard by subscribers that come and go', async () => {
      const subject = ownSubject();
      const heard: string[] = [];
      pair.requester.publish(`${subject}.nobody`, 'unheard');
      const first = await pair.responder.subscribe(subject, (payload) => heard.push(`first ${payload}`));
      pair.requester.publish(subject, '1');
      await eventually(() => heard.length === 1);
      await first.drain();
      await pair.responder.subscribe(subject, (payload) => heard.push(`second ${payload}`));
      pair.requester.publish(subject, '2');
      await eventually(() => heard.length === 2);
      expect(heard).toEqual(['first 1', 'second 2']);
    });

    test('are not answered by responders', async () => {
      const subject = ownSubject();
      const heard: string[] = [];
      await pair.responder.respond(subject, async (payload) => {
        heard.push(payload);
        return '';
      });
      pair.requester.publish(subject, 'message');
      await pair.requester.request(subject, 'request', inTime());
      expect(heard).toEqual(['request']);
    });

    test('reach the next subscriber when one throws', async () => {
      const subject = ownSubject();
      const heard: string[] = [];
      await pair.responder.subscribe(subject, () => {
        throw new Error('a bug');
      });
      await pair.responder.subscribe(subject, (payload) => heard.push(payload));
      pair.requester.publish(subject, '1');
      pair.requester.publish(subject, '2');
      await eventually(() => heard.length === 2);
    });

    test.each(['', 'a..b', 'a b', 'a.>.b', 'a*'])('refuse the pattern "%s"', async (pattern) => {
      await expect(pair.responder.subscribe(pattern, () => {})).rejects.toThrow(RangeError);
    });
  });
}

function describeLimits(open: Open): void {
  describe('limits', () => {
    const pair = sharedPair(open);

    test('the largest payload passes both ways, counted in bytes', async () => {
      const subject = ownSubject();
      await pair.responder.respond(subject, echo);
      const largest = 'é'.repeat(pair.requester.maxPayloadBytes / 2);
      expect((await pair.requester.request(subject, largest, inTime())) === largest).toBe(true);
    });

    test('a larger request or message is refused before it is sent', async () => {
      const subject = ownSubject();
      const heard: number[] = [];
      await pair.responder.subscribe(subject, (payload) => heard.push(payload.length));
      const oversize = 'é'.repeat(pair.requester.maxPayloadBytes / 2 + 1);
      const error = await failure(pair.requester.request(subject, oversize, inTime()));
      expect(error).toMatchObject({ code: 'TOO_LARGE', undelivered: true });
      expect(() => pair.requester.publish(subject, oversize)).toThrow(BusError);
      pair.requester.publish(subject, 'x');
      await eventually(() => heard.length > 0);
      expect(heard).toEqual([1]);
    });

    test('a larger reply is reported at once as work that was done', async () => {
      const subject = ownSubject();
      await pair.responder.respond(subject, async () => 'x'.repeat(pair.responder.maxPayloadBytes + 1));
      const error = await failure(pair.requester.request(subject, '', inTime()));
      expect(error).toMatchObject({ code: 'TOO_LARGE', undelivered: false });
    });
  });
}

function describeEnds(open: Open): void {
  describe('ends', () => {
    test('a draining responder of two loses none of 2,000 requests', async () => {
      const { requester, responder } = await open();
      const subject = ownSubject();
      const handled = { leaving: 0, staying: 0 };
      const member = (name: keyof typeof handled) =>
        responder.respond(
          subject,
          async (payload) => {
            await delay(Number(payload) % 4);
            handled[name] += 1;
            return payload;
          },
          { queue: 'group' },
        );
      const leaving = await member('leaving');
      await member('staying');
      let next = 0;
      let wrong = 0;
      let handledAtDrain = -1;
      const client = async () => {
        while (next < 2000) {
          next += 1;
          const payload = String(next);
          if (next === 500) void leaving.drain().then(() => (handledAtDrain = handled.leaving));
          const reply = await requester.request(subject, payload, inTime()).catch(() => 'failed');
          if (reply !== payload) wrong += 1;
        }
      };
      await Promise.all(Array.from({ length: 64 }, client));
      expect(wrong).toBe(0);
      expect(handledAtDrain).toBeGreaterThan(0);
      expect(handled.leaving).toBe(handledAtDrain);
      expect(handled.leaving + handled.staying).toBe(2000);
      await Promise.all([requester.close(), responder.close()]);
    });

    test('close lets a handler under way publish and reply, then refuses everything', async () => {
      const { requester, responder } = await open();
      const subject = ownSubject();
      const failures: unknown[] = [];
      const { promise: running, resolve: started } = Promise.withResolvers<void>();
      await responder.respond(subject, async () => {
        started();
        await delay(30);
        try {
          responder.publish(`${subject}.event`, 'from a handler');
        } catch (error) {
          failures.push(error);
        }
        return 'done';
      });
      const reply = requester.request(subject, '', inTime());
      await running;
      const closed = responder.close();
      expect(await reply).toBe('done');
      await closed;
      expect(failures).toEqual([]);
      const refused = await failure(responder.request(subject, '', inTime()));
      expect(refused).toMatchObject({ code: 'CLOSED', undelivered: true });
      expect(() => responder.publish(subject, '')).toThrow(BusError);
      expect((await failure(responder.respond(subject, echo))).code).toBe('CLOSED');
      expect(responder.connected).toBe(false);
      await Promise.all([requester.close(), responder.close()]);
    });

    test('close waits for replies under way', async () => {
      const { requester, responder } = await open();
      const subject = ownSubject();
      await responder.respond(subject, async (payload) => {
        await delay(30);
        return payload;
      });
      const reply = requester.request(subject, 'x', inTime());
      await requester.close();
      expect(await reply).toBe('x');
      await responder.close();
    });
  });
}
