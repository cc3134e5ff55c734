/** Sixty ways to what must not be reached, with a listener on every address of this machine, and what answers do. */
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { targetOf } from './domain/target.ts';
import { createFetcher, NETWORK_LIMITS } from './fetcher.ts';

const servers: Server[] = [];
afterAll(async () => {
  for (const server of servers) server.close();
});

async function listen(server: Server, host: string, port = 0): Promise<number> {
  servers.push(server);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen({ host, port, ipv6Only: host === '::' }, resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

/** Everything that any address of this machine hears at one port. */
let connects = 0;
const forbidden = () =>
  createServer((socket) => {
    connects += 1;
    socket.destroy();
  });
const PORT = await listen(forbidden(), '0.0.0.0');
const hasIPv6 = await listen(forbidden(), '::', PORT).then(
  () => true,
  () => false,
);

const answers: Record<string, RequestListener> = {};
const ORIGIN_PORT = await listen(
  createHttp((request, response) => answers[new URL(request.url ?? '/', 'http://x').pathname]?.(request, response)),
  '127.0.0.1',
);
const ORIGIN = `http://start.example:${ORIGIN_PORT}`;

const own = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/** What names resolve to, one answer after the other; the last one stays. */
const names = new Map<string, string[][]>([
  ['start.example', [['127.0.0.1']]],
  ['rebinds.example', [['127.0.0.1'], ['10.0.0.1']]],
  ['none.example', [[]]],
]);
const lookedUp: string[] = [];
async function resolve(host: string): Promise<readonly string[]> {
  lookedUp.push(host);
  const turns = names.get(host);
  if (turns === undefined) throw new Error('no such name');
  return (turns.length > 1 ? turns.shift() : turns[0]) ?? [];
}

/** Of what is answered at all a busy machine is no reason to give up. */
const fetcher = createFetcher({ resolve });
const hasty = createFetcher({ resolve, timeMs: 1000 });
const literals = [
  ...`127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.9.9.9 0 0.0.0.0 10.0.0.1 10.1 172.16.0.1 192.168.0.1 169.254.169.254 2852039166 100.64.0.1 198.18.0.1 224.0.0.1 255.255.255.255 %31%32%37.0.0.1 127。0。0。1 ①②⑦.0.0.1 127.0.0.1. [::1] [::] [0:0:0:0:0:0:0:1] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [64:ff9b::7f00:1] [64:ff9b::10.0.0.1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001::1] [fe80::1] [fd00:ec2::254] [fec0::1] [ff02::1]`.split(
    ' ',
  ),
  own ?? '10.0.0.2',
];
const resolved = [
  ['127.0.0.1'],
  ['::1'],
  ['10.0.0.1'],
  ['169.254.169.254'],
  ['::ffff:127.0.0.1'],
  ['64:ff9b::7f00:1'],
  ['0.0.0.0'],
  ['8.8.8.8', '127.0.0.1'],
  ['2606:4700::1', '::1'],
  ['fe80::1%lo'],
  [own ?? '10.0.0.2'],
];
resolved.forEach((addresses, at) => names.set(`name-${at}.example`, [[...addresses]]));
const redirects = ['127.0.0.1', '169.254.169.254', '[::1]', '[::ffff:127.0.0.1]', 'name-0.example', 'unlisted.example'];

const vectors: readonly (readonly [string, string])[] = [
  ...literals.map((host) => [host, `http://${host}:${PORT}/`] as const),
  ...resolved.map((addresses, at) => [addresses.join(), `http://name-${at}.example:${PORT}/`] as const),
  ...redirects.map((host) => [`redirect to ${host}`, `${ORIGIN}/to?${host}`] as const),
  ['rebinding', `http://rebinds.example:${ORIGIN_PORT}/again`],
];
answers['/to'] = (request, response) => {
  response.writeHead(302, { location: `http://${request.url?.split('?')[1]}:${PORT}/` }).end();
};
answers['/again'] = (_request, response) => response.writeHead(302, { location: '/again' }).end();

/** Every host of a vector is listed, so that its addresses alone decide. */
const listed = {
  allow: [
    ...[...literals, ...redirects].flatMap((host) => hostsOf(host)),
    ...resolved.map((_addresses, at) => `name-${at}.example:${PORT}`),
    `start.example:${ORIGIN_PORT}`,
    `rebinds.example:${ORIGIN_PORT}`,
  ],
  allowPrivate: [`127.0.0.1:${ORIGIN_PORT}`],
};
function hostsOf(host: string): string[] {
  if (host.startsWith('unlisted')) return [];
  const target = targetOf(`http://${host}:${PORT}/`);
  return target === null ? [] : [target.host.includes(':') ? `[${target.host}]:${PORT}` : `${target.host}:${PORT}`];
}

test('there are sixty', () => {
  expect(vectors).toHaveLength(60);
  expect(hasIPv6 || process.env.CI === undefined).toBe(true);
});

test.each(vectors)('not reached: %s', async (_name, url) => {
  const target = targetOf(url);
  if (target === null) throw new Error(`no address: ${url}`);
  expect(await fetcher.fetch(target, listed)).toMatchObject({
    ok: false,
    code: expect.stringMatching(/^E_(ADDRESS|HOST)_DENIED$/),
  });
});

test('nobody connected to what is forbidden, and what is not listed is not looked up', async () => {
  expect(connects).toBe(0);
  const before = lookedUp.length;
  expect(await get('http://unlisted.example/')).toMatchObject({ code: 'E_HOST_DENIED' });
  expect(lookedUp).toHaveLength(before);
  expect(await get(`http://none.example:${ORIGIN_PORT}/`, ['none.example:' + ORIGIN_PORT])).toMatchObject({
    code: 'E_ADDRESS_DENIED',
  });
});

function get(url: string, allow: readonly string[] = [], by = fetcher) {
  const target = targetOf(url);
  if (target === null) throw new Error(`no address: ${url}`);
  return by.fetch(target, { ...listed, allow: [...listed.allow, ...allow] });
}

test('an answer is its text, whatever its status; a name is resolved once for each step', async () => {
  answers['/text'] = (request, response) => {
    const named = ['cookie', 'authorization'].filter((name) => request.headers[name] !== undefined);
    response.writeHead(404, { 'content-type': 'text/plain; charset=iso-8859-1', 'set-cookie': 'a=b' });
    response.end(Buffer.from([0x67, 0xf6, ...Buffer.from(named.join())]));
  };
  answers['/twice'] = (_request, response) => response.writeHead(307, { location: '/once' }).end();
  answers['/once'] = (_request, response) => response.writeHead(301, { location: `${ORIGIN}/text#x` }).end();
  expect(await get(`${ORIGIN}/text`)).toMatchObject({ value: { status: 404, body: 'gö', bytes: 2, redirects: 0 } });
  const before = lookedUp.length;
  expect(await get(`${ORIGIN}/twice`)).toMatchObject({ value: { redirects: 2, finalUrl: `${ORIGIN}/text#x` } });
  expect(lookedUp.slice(before)).toEqual(['start.example', 'start.example', 'start.example']);
});

test('redirects that never end, or lead to no address, are refused', async () => {
  for (const [path, location] of Object.entries({ '/round': '/round', '/ftp': 'ftp://x/', '/user': 'http://a:b@x/' })) {
    answers[path] = (_request, response) => response.writeHead(302, { location }).end();
    expect(await get(`${ORIGIN}${path}`), path).toMatchObject({ code: 'E_REDIRECT' });
  }
});

test('a bomb is refused at its limit, a drip at its time, what is no text for its type', async () => {
  const zeros = gzipSync(Buffer.alloc(10 * 1024 * 1024));
  answers['/bomb'] = (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(zeros);
  expect(zeros.length).toBeLessThan(NETWORK_LIMITS.bodyBytes);
  expect(await get(`${ORIGIN}/bomb`)).toMatchObject({ code: 'E_TOO_LARGE' });
  answers['/drip'] = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const drip = setInterval(() => response.write('.'), 50);
    response.on('close', () => clearInterval(drip));
  };
  expect(await get(`${ORIGIN}/drip`, [], hasty)).toMatchObject({ code: 'E_TIMEOUT' });
  for (const headers of [
    { 'content-type': 'image/png' },
    {},
    { 'content-type': 'text/plain', 'content-encoding': 'zip' },
    { 'content-type': 'text/plain; charset=none' },
  ]) {
    answers['/type'] = (_request, response) => response.writeHead(200, headers).end('x');
    expect(await get(`${ORIGIN}/type`), JSON.stringify(headers)).toMatchObject({ code: 'E_TYPE' });
  }
  answers['/empty'] = (_request, response) => response.writeHead(204).end();
  expect(await get(`${ORIGIN}/empty`)).toMatchObject({ value: { status: 204, body: '', bytes: 0 } });
});

test('who does not answer, and who has no certificate, is told apart', async () => {
  answers['/cut'] = (request) => request.socket.destroy();
  expect(await get(`${ORIGIN}/cut`)).toMatchObject({ code: 'E_UNREACHABLE' });
  expect(await get('http://unknown.example/', ['unknown.example'])).toMatchObject({ code: 'E_UNREACHABLE' });
  expect(await get(`https://start.example:${ORIGIN_PORT}/`)).toMatchObject({ code: 'E_TLS' });
});
