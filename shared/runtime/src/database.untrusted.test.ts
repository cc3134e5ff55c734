import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { meetDatabase } from './database.patience.ts';
import { openPostgresDatabase } from './database.postgres.ts';
import { callErrorFor } from './failures.ts';

const log = { warn() {}, fatal() {} };
const folder = mkdtempSync(join(tmpdir(), 'database-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));

execFileSync(
  'openssl',
  ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key', '-out', 'cert', '-subj', '/CN=x'],
  {
    cwd: folder,
    stdio: 'ignore',
  },
);
const [key, cert] = [readFileSync(join(folder, 'key')), readFileSync(join(folder, 'cert'))];

/** As PostgreSQL answers who asks for TLS. */
const withCertificate = (socket: Socket): void => {
  socket.write('S');
  new TLSSocket(socket, { isServer: true, key, cert }).on('error', () => {});
};
const withoutTls = (socket: Socket): void => void socket.write('N');
const withGarbage = (socket: Socket): void => void socket.write('X');

test.each([
  ['whose certificate nobody trusts', withCertificate, /self-signed certificate/],
  ['that speaks no TLS', withoutTls, /does not support SSL/],
  ['that is another program', withGarbage, /establishing an SSL connection/],
])(
  'a database %s is one that is away, not a bug of each call, and a start says why',
  async (_which, answer, reason) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `postgresql://svc:pw@localhost:${(server.address() as AddressInfo).port}/svc?sslmode=verify-full`;
    const database = await openPostgresDatabase({ url, log, poolSize: 1 });
    const failure: unknown = await database.pool.query('SELECT 1').catch((error: unknown) => error);
    expect(String(failure)).toMatch(reason);
    expect(callErrorFor(failure)).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(meetDatabase(database, { url, log, giveUpAt: Date.now() })).rejects.toThrow(
      /^PostgreSQL at localhost:\d+ cannot be reached: .+ \(DATABASE_URL\)$/,
    );
    await database.close();
    server.close();
  },
);
