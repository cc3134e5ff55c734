import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNats } from '@svc/testing/servers/nats.ts';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { connectNatsBus } from './bus.nats.ts';

const server = await startNats({ config: '' });
const folder = mkdtempSync(join(tmpdir(), 'nats-tls-'));
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

describe.skipIf(server?.reload === undefined)('a lost server', () => {
  test('is told of with what keeps it away, a certificate that nobody trusts, and once for all tries', async () => {
    const subject = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      'key',
      '-out',
      'cert',
      '-subj',
      '/CN=x',
    ];
    execFileSync('openssl', subject, { cwd: folder, stdio: 'ignore' });
    const told: string[] = [];
    const warn = (...words: unknown[]) => void told.push(String(words.at(-1)));
    const log = { info: warn, warn, error: warn };
    const bus = await connectNatsBus({ urls: [server?.url ?? ''], name: 'test', log });
    await server?.reload?.(`tls: { cert_file: "${join(folder, 'cert')}", key_file: "${join(folder, 'key')}" }`);
    await server?.control?.restart(0);
    const reason =
      /^NATS at 127\.0\.0\.1:\d+ cannot be reached: .*self-signed certificate.*; it is tried until it can$/;
    await vi.waitFor(() => expect(told).toContainEqual(expect.stringMatching(reason)), {
      timeout: 20_000,
      interval: 50,
    });
    expect(bus.connected).toBe(false);

    await server?.reload?.('');
    await server?.control?.restart(0);
    await vi.waitFor(() => expect(bus.connected).toBe(true), { timeout: 20_000, interval: 50 });
    expect(told.filter((line) => reason.test(line))).toHaveLength(1);
    await bus.close();
  });
});
