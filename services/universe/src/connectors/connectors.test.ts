/** What is listed while the services that reach systems outside do not answer. */
import { CallError } from '@svc/contract/codes.ts';
import { allow } from '@svc/contract/decision.ts';
import { expect, test } from 'vitest';
import { createConnectors } from './connectors.ts';
import type { Server } from './servers.ts';

const away = () => Promise.reject(new CallError('SERVICE_UNAVAILABLE'));
const unreached = async () => allow({ latencyMs: 1, detail: '' });
const server = (name: Server['name'], probe: Server['probe']): Server => ({
  name,
  kind: name,
  variable: 'DATABASE_URL',
  configured: true,
  probe,
});
const list = (outside: () => Promise<never>) =>
  createConnectors({
    servers: {
      postgres: server('postgres', async () => 'PostgreSQL'),
      bus: server('bus', away),
      queue: { ...server('queue', away), configured: false },
    },
    outside: { brain: { outside, reach: unreached }, agora: { outside, reach: unreached } },
    contacts: {
      all: async () => new Map([['remote:b', { connector: 'remote:b', checkedAt: 5, okAt: null, error: 'E_AUTH' }]]),
    },
    more: {
      list: async () =>
        ['a', 'b'].map((name) => ({ service: `remote:${name}`, kind: 'node', configured: true, missing: [] })),
      reach: async () => null,
    },
    now: () => 7,
  }).list();

test('what a service that is away would know is unknown, and nobody else goes unlisted for it', async () => {
  const states = (await list(away)).map(({ service, state, checkedAt }) => [service, state, checkedAt]);
  expect(states).toEqual([
    ['postgres', 'up', 7],
    ['bus', 'down', 7],
    ['queue', 'off', null],
    ['remote-host', 'unknown', null],
    ['embedder', 'unknown', null],
    ['peers', 'unknown', null],
    ['remote:a', 'unknown', null],
    ['remote:b', 'down', 5],
  ]);
});

test('a bug of such a service is none of that', async () => {
  await expect(list(() => Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError);
});
