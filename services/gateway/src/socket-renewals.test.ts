import { FakeRegistry } from '@svc/testing/registry.fake.ts';
import { ANONYMOUS_LISTENER } from '@svc/contract/event-visibility.ts';
import { expect, onTestFinished, test } from 'vitest';
import { KEYED, until } from '../testing/harness.ts';
import { createTestPlatform } from '../testing/platform.ts';
import { createPorts, type Ports } from './ports.ts';
import { type RightsHolder, RightsKeeper } from './socket-rights.ts';
import { presentedToken } from './token-cache.ts';

const SOCKETS = 5;
const CHANGES = 20;
/** The one that is under way, and the next. */
const RENEWALS = 2;

const platform = createTestPlatform({ environment: KEYED });
const registry = new FakeRegistry();

function holderOf(raw: string): RightsHolder {
  const token = presentedToken(raw);
  if (token === null) throw new Error('the registry mints tokens');
  return {
    credential: { kind: 'token', token },
    rights: { listener: ANONYMOUS_LISTENER, mayRead: true, rev: -1, expiresAt: Infinity },
    grant(rights) {
      this.rights = rights;
    },
    expel() {
      throw new Error('every token stays good');
    },
  };
}

/** The same, where no token is verified before `until` is resolved, with how often it has told what the registry stands at. */
function heldUp(ports: Ports, until: Promise<void>): { ports: Ports; told(): number } {
  let told = 0;
  const verify: Ports['tokens']['verify'] = async (...asked) => {
    await until;
    return ports.tokens.verify(...asked);
  };
  const requireRevision: Ports['requireRevision'] = async (session) => {
    const revision = await ports.requireRevision(session);
    told += 1;
    return revision;
  };
  return { ports: { ...ports, requireRevision, tokens: { ...ports.tokens, verify } }, told: () => told };
}

test('a renewal serves all that wait for it, however often the registry changed meanwhile', async () => {
  await registry.serveOn(platform);
  registry.grant('a', 'acme', 'viewer');
  const holders = Array.from({ length: SOCKETS }, () => holderOf(registry.mint('a')));
  const ports = createPorts(platform, { verified() {} });
  const held = Promise.withResolvers<void>();
  const { ports: slow, told } = heldUp(ports, held.promise);
  const keeper = new RightsKeeper(platform, slow, () => holders);
  onTestFinished(async () => {
    ports.close();
    await platform.bus.close();
  });

  const waiting: Promise<boolean>[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    registry.grant(`b${change}`, 'acme', 'viewer');
    const { rev } = registry.stamp();
    waiting.push(keeper.current().then(({ stamp }) => stamp.rev >= rev));
    await until(() => told() === waiting.length);
  }
  held.resolve();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
  expect(registry.asked.subject).toBeLessThanOrEqual(RENEWALS * SOCKETS);
  expect(holders.map(({ rights }) => rights.rev)).toEqual(holders.map(() => registry.stamp().rev));
});
