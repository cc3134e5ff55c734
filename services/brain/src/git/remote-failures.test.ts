/** Each way in which a remote can fail: its code, its kind, a sentence that names the host, and the remote's own words. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import type { RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DiskRefusal } from '../files/durable-write.ts';
import { findDamage } from './boot-repair.ts';
import { AT, hasProgram, makeTestBed, mustRead, saveFiles, type TestBed } from '../../testing/git-test-bed.ts';
import { diagnose, remoteWords } from './remote-diagnosis.ts';
import { RemoteError } from './remote-error.ts';
import { serveRepositories, TestHost } from './remote-test-host.ts';
import { parseRemoteUrl } from './remote-url.ts';
import { countNew } from './history.ts';
import { countRemoteBranches, fetchRemote, pushBranch, readRemoteHeads, type Remote } from './remote.ts';
import { fetchKeeping } from './rewritten.ts';
import { GitError } from './run.ts';
import type { TransferProgress } from './transfer-output.ts';

/** Of the remotes that are to be given up; all others have the product's own patience, for a busy machine. */
const SILENCE_MS = 700;
let bed: TestBed;
let bare: string;
beforeEach(async () => {
  bed = await makeTestBed();
  bare = join(bed.root, 'remote.git');
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare]);
});
afterEach(() => bed[Symbol.asyncDispose]());

function remoteAt(url: string, rest: Partial<Remote> = {}): Remote {
  const address = parseRemoteUrl(url, { allowFile: true });
  if (typeof address === 'string') throw new Error(address);
  return { name: 'origin', address, ...rest };
}

const pull = (remote: Remote) => fetchRemote(bed.repository, remote);
const push = async (remote: Remote) =>
  pushBranch(bed.repository, remote, { branch: 'main', commit: await mustRead(bed.repository, 'main'), at: AT });

async function failure(action: Promise<unknown>): Promise<RemoteError> {
  const error: unknown = await action.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof RemoteError) return error;
  throw error instanceof Error ? error : new Error('it did not fail');
}

async function hook(name: string, ...lines: string[]): Promise<void> {
  await mkdir(join(bare, 'hooks'), { recursive: true });
  await writeFile(join(bare, 'hooks', name), ['#!/bin/sh', ...lines, ''].join('\n'));
  await chmod(join(bare, 'hooks', name), 0o755);
}

describe('a remote that cannot be asked', () => {
  it.each([
    ['https://no-such-host.invalid/a/b.git', 'dns', 'E_REMOTE_UNREACHABLE', 'no-such-host.invalid'],
    ['https://127.0.0.1:1/a/b.git', 'refused', 'E_REMOTE_UNREACHABLE', '127.0.0.1:1'],
  ])('%s is %s', async (url, kind, code, host) => {
    for (const action of [pull, push]) {
      const error = await failure(action(remoteAt(url)));
      expect(error).toMatchObject({ kind, code, said: null });
      expect(error.message).toContain(host);
    }
  });

  it.skipIf(!hasProgram('ssh')).each([
    ['ssh://git@no-such-host.invalid/a', 'dns'],
    ['git@127.0.0.1:a/b.git', 'refused'],
  ])('%s is %s', async (url, kind) => {
    const remote = remoteAt(url, { silenceMs: 15_000 });
    const error = await failure(pull(remote));
    expect(error.code).toMatch(/^E_REMOTE_(?:UNREACHABLE|TLS|AUTH)$/);
    if (kind === 'dns') expect(error.kind).toBe(kind);
  });

  it('a repository that is not there is absent, and no path is told', async () => {
    for (const action of [pull, push]) {
      const error = await failure(action(remoteAt(`file://${bed.root}/none.git`)));
      expect(error).toMatchObject({ kind: 'absent', code: 'E_REMOTE_ABSENT', said: null });
      expect(error.message).toContain('origin');
      expect(error.message).not.toContain(bed.root);
    }
  });
});

describe('a push that is refused', () => {
  const remote = () => remoteAt(`file://${bare}`);
  beforeEach(() => saveFiles(bed.repository, { 'x.md': '1' }));

  it('tells the words of a hook, cleaned and bounded', async () => {
    await hook('pre-receive', `printf 'No \\033[31mMarkdown\\033[0m on\\tFridays\\a\\n' >&2`, 'exit 1');
    const error = await failure(push(remote()));
    expect(error).toMatchObject({ code: 'E_REMOTE_REJECTED', kind: 'hook', said: 'No Markdown on Fridays' });
    expect(error.message).toBe('The remote origin refuses the push (pre-receive hook declined).');
    await hook(
      'pre-receive',
      'i=0; while [ $i -lt 400 ]; do echo "long line of excuses $i"; i=$((i+1)); done',
      'exit 1',
    );
    const { said } = await failure(push(remote()));
    expect(said).toMatch(/^long line of excuses 0\nlong line/);
    expect(Buffer.byteLength(said ?? '')).toBeLessThanOrEqual(1024);
  });

  it('tells a remote without room from one that refuses', async () => {
    await hook('pre-receive', `echo 'fatal: write error: No space left on device' >&2`, 'exit 1');
    expect(await failure(push(remote()))).toMatchObject({ code: 'E_REMOTE_FULL', kind: 'full' });
    await rm(join(bare, 'hooks', 'pre-receive'));
    await hook('update', 'exit 1');
    expect(await failure(push(remote()))).toMatchObject({
      code: 'E_REMOTE_REJECTED',
      kind: 'hook',
      said: 'error: hook declined to update refs/heads/main',
    });
    await rm(join(bare, 'hooks', 'update'));
    execFileSync('git', ['--git-dir', bare, 'config', 'receive.hideRefs', 'refs/heads/main']);
    expect(await failure(push(remote()))).toMatchObject({ code: 'E_REMOTE_REJECTED', kind: 'policy' });
  });

  it('counts what it brought from where the remote was', async () => {
    const first = await push(remote());
    expect(first).toEqual({ result: 'pushed', replaced: null });
    const before = await mustRead(bed.repository, 'main');
    for (const content of ['2', '3']) await saveFiles(bed.repository, { 'x.md': content });
    expect(await push(remote())).toEqual({ result: 'pushed', replaced: before });
    const head = await mustRead(bed.repository, 'main');
    expect(await countNew(bed.repository, head, { known: [before], without: [] })).toBe(2);
    expect(await countNew(bed.repository, head, { known: [], without: [] })).toBe(4);
    expect(await countNew(bed.repository, head, { known: [head, before], without: [] })).toBe(0);
  });
});

/** Sends the body over five seconds. */
function trickle(response: ServerResponse, body: Buffer): void {
  const step = Math.ceil(body.length / 50);
  let at = 0;
  const timer = setInterval(() => {
    response.write(body.subarray(at, at + step));
    at += step;
    if (at < body.length) return;
    clearInterval(timer);
    response.end();
  }, 100);
}

describe.skipIf(!hasProgram('openssl'))('a host', () => {
  let host: TestHost;
  beforeAll(async () => {
    host = await TestHost.start();
  });
  afterAll(() => host.stop());
  beforeEach(async () => {
    execFileSync('git', ['--git-dir', bare, 'config', 'http.receivepack', 'true']);
    host.handler = serve;
    await saveFiles(bed.repository, { 'x.md': '1' });
  });
  const serve: RequestListener = (request, response) => serveRepositories(bed.root, request, response);
  const remote = (rest: Partial<Remote> = {}) =>
    remoteAt(`${host.origin}/remote.git`, { caFile: host.certificateFile, ...rest });

  it.each([
    [401, 'credential', 'E_REMOTE_AUTH', 'wants a credential'],
    [403, 'credential', 'E_REMOTE_AUTH', 'wants a credential'],
    [404, 'absent', 'E_REMOTE_ABSENT', 'no such repository'],
    [429, 'http', 'E_REMOTE_UNREACHABLE', 'HTTP 429'],
    [500, 'http', 'E_REMOTE_UNREACHABLE', 'HTTP 500'],
    [507, 'http', 'E_REMOTE_UNREACHABLE', 'HTTP 507'],
  ])('that answers %i is %s, with its words', async (status, kind, code, words) => {
    const token = 'CANARY-token';
    host.handler = (_, response) =>
      response
        .writeHead(status, { 'content-type': 'text/plain', 'www-authenticate': 'Basic realm="x"' })
        .end(`We are sorry, ${token}.\n`);
    for (const action of [pull, push]) {
      const error = await failure(action(remote()));
      expect(error).toMatchObject({ kind, code });
      expect(error.message).toContain(words);
      expect(error.message).toContain(new URL(host.origin).host);
    }
    const error = await failure(pull(remote({ credential: { token } })));
    expect(error).toMatchObject({ kind, code });
    expect(`${error.message} ${error.said}`).not.toContain(token);
    if (status === 404 || status === 500) expect(error.said).toBe('We are sorry, ***.');
  });

  it('whose certificate nobody vouches for is told apart from one that is away', async () => {
    const { caFile: _, ...untrusting } = remote();
    const error = await failure(pull(untrusting));
    expect(error).toMatchObject({ kind: 'certificate', code: 'E_REMOTE_TLS' });
    expect(error.message).toContain('SVC_SYNC_CA_FILE');
  });

  it('is not even asked with trusted certificates that are gone', async () => {
    const error = await failure(pull(remote({ caFile: join(bed.root, 'taken away.pem') })));
    expect(error).toMatchObject({ kind: 'authorities', code: 'E_REMOTE_TLS' });
    expect(error.message).toMatch(
      /^localhost:\d+ was not asked: the certificates in SVC_SYNC_CA_FILE cannot be read\.$/,
    );
  });

  it('that answers a page in one line has no repository, and where it was stays known', async () => {
    const page = '<html><body>Please sign in.</body></html>';
    host.handler = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    expect(await failure(pull(remote()))).toMatchObject({ kind: 'absent' });
    const { git } = bed.repository;
    expect(await failure(countRemoteBranches(git, remote(), 60_000))).toMatchObject({ code: 'E_REMOTE_ABSENT' });
    host.handler = serve;
    expect(await countRemoteBranches(git, remote(), 60_000)).toBe(0); // an empty one is one all the same
    await pull(remote());
    await push(remote());
    const tip = await mustRead(bed.repository, 'main');
    host.handler = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    const wish = { at: AT, suffix: () => 'aabbccdd', watch: {} };
    expect(await failure(fetchKeeping(bed.repository, remote(), wish))).toMatchObject({ kind: 'absent' });
    expect(await readRemoteHeads(bed.repository, remote())).toEqual(new Map([['main', tip]]));
  });

  it('that redirects is not followed', async () => {
    host.handler = (request, response) =>
      response.writeHead(302, { location: `https://x.invalid${request.url}` }).end();
    expect(await failure(pull(remote()))).toMatchObject({ kind: 'redirect', code: 'E_REMOTE_UNREACHABLE' });
  });

  it('that breaks off is told as such', async () => {
    host.handler = (request) => request.socket.destroy();
    expect(await failure(pull(remote()))).toMatchObject({ kind: 'cut', code: 'E_REMOTE_UNREACHABLE' });
  });

  describe('that falls silent', () => {
    /** Answers like git, but says nothing more at the point where `at` says so. */
    const silentAt =
      (at: 'answer' | 'request' | 'half'): RequestListener =>
      (request, response) => {
        if (at === 'answer') return;
        if (request.method === 'GET') return serve(request, response);
        if (at === 'request') return;
        const isRefs =
          request.headers['content-length'] !== undefined && Number(request.headers['content-length']) < 300;
        serveRepositories(bed.root, request, response, (body) => {
          if (isRefs && !body.includes('PACK')) response.end(body);
          else response.write(body.subarray(0, Math.floor(body.length / 2)));
        });
      };

    it.each(['answer', 'request', 'half'] as const)('at its %s is given up in time, nothing changed', async (at) => {
      await saveFiles(bed.repository, { 'big.md': Array.from({ length: 60_000 }, () => Math.random()).join('\n') });
      await pushBranch(bed.repository, remoteAt(`file://${bare}`), {
        branch: 'other',
        commit: await mustRead(bed.repository, 'main'),
        at: AT,
      });
      const fresh = await makeTestBed();
      host.handler = silentAt(at);
      const startedAt = performance.now();
      // time for a busy machine to come as far as the pack
      const silenceMs = at === 'half' ? 3000 : SILENCE_MS;
      const far = remote({ silenceMs });
      const actions = [() => fetchRemote(fresh.repository, far), ...(at === 'half' ? [] : [() => push(far)])];
      for (const action of actions) {
        const error = await failure(action());
        expect(error).toMatchObject({ kind: 'silent', stage: at === 'half' ? 'receiving' : null });
        expect(error.message).toContain(`${silenceMs / 1000} s`);
      }
      expect(performance.now() - startedAt).toBeLessThan(15_000);
      expect(await findDamage(fresh.repository, 'strict')).toBeNull();
      expect(await readdir(join(fresh.repository.gitDir, 'objects/pack'))).toEqual([]);
      await fresh[Symbol.asyncDispose]();
      host.handler = serve;
      expect(await push(remote())).toMatchObject({ result: 'pushed' });
    });
  });

  it('that is slow but alive is waited for, and how far it is is told', async () => {
    await saveFiles(bed.repository, { 'big.md': Array.from({ length: 30_000 }, () => Math.random()).join('\n') });
    await pushBranch(bed.repository, remoteAt(`file://${bare}`), {
      branch: 'main',
      commit: await mustRead(bed.repository, 'main'),
      at: AT,
    });
    const [fresh, another] = [await makeTestBed(), await makeTestBed()];
    host.handler = (request, response) =>
      serveRepositories(bed.root, request, response, (body) => {
        if (request.method === 'GET') response.end(body);
        else trickle(response, body);
      });
    const heard: TransferProgress[] = [];
    const startedAt = performance.now();
    // git itself tells once a second how much came in
    const silenceMs = 2500;
    await fetchRemote(fresh.repository, remote({ silenceMs }), { onProgress: (progress) => heard.push(progress) });
    expect(performance.now() - startedAt).toBeGreaterThan(silenceMs * 1.5);
    expect(heard.filter(({ stage }) => stage === 'receiving').length).toBeGreaterThan(2);
    const error = await failure(fetchRemote(another.repository, remote({ silenceMs, transferMs: 1500 })));
    expect(error).toMatchObject({ kind: 'slow', code: 'E_REMOTE_UNREACHABLE' });
    for (const each of [fresh, another]) await each[Symbol.asyncDispose]();
  });
});

describe('a port', () => {
  let server: Server;
  const open = new Set<Socket>();
  afterEach(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const listen = async (onConnection: (socket: Socket) => void): Promise<number> => {
    server = createServer((socket) => {
      open.add(socket);
      socket.on('error', () => undefined);
      onConnection(socket);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return (server.address() as AddressInfo).port;
  };

  it.each(['https', ...(hasProgram('ssh') ? ['ssh'] : [])])(
    'that takes the connection and says nothing over %s is silent; nothing is left running',
    async (transport) => {
      const ended = Promise.withResolvers<undefined>();
      const port = await listen((socket) => socket.on('close', () => ended.resolve(undefined)).resume());
      const error = await failure(
        pull(remoteAt(`${transport}://127.0.0.1:${port}/a/b.git`, { silenceMs: SILENCE_MS })),
      );
      expect(error).toMatchObject({ kind: 'silent', code: 'E_REMOTE_UNREACHABLE', stage: null });
      expect(error.message).toContain('before it answered anything');
      await ended.promise; // the process that held the connection is gone too
    },
  );

  it('is let go when the transfer is ended', async () => {
    const ended = Promise.withResolvers<undefined>();
    const ending = new AbortController();
    const port = await listen((socket) => {
      socket.on('close', () => ended.resolve(undefined)).resume();
      ending.abort();
    });
    const remote = remoteAt(`https://127.0.0.1:${port}/a/b.git`, { silenceMs: 60_000 });
    await failure(fetchRemote(bed.repository, remote, { signal: ending.signal }));
    await ended.promise;
    await failure(fetchRemote(bed.repository, remote, { signal: ending.signal })); // ended before it began
  });

  it('that does not speak TLS gives no secure connection', async () => {
    const port = await listen((socket) => socket.end('SSH-2.0-rubbish and more of it\r\n'.repeat(10)));
    const error = await failure(pull(remoteAt(`https://127.0.0.1:${port}/a/b.git`)));
    expect(error).toMatchObject({ kind: 'handshake', code: 'E_REMOTE_TLS' });
  });
});

describe('diagnose', () => {
  const attempt = {
    remote: { name: 'origin', address: { host: 'git.example' } },
    stage: null,
    silenceMs: 1,
    timeoutMs: 1,
  };
  const of = (stderr: string, brings = true): unknown =>
    diagnose(new GitError('exit', 'x', 128, stderr), { ...attempt, brings });

  it('tells a full disk here from one at the remote', () => {
    const full = 'fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output\n';
    expect(of(full)).toBeInstanceOf(DiskRefusal);
    expect(of('error: unable to create temporary file: Permission denied\n')).toBeInstanceOf(DiskRefusal);
    expect(of(full, false)).toMatchObject({ kind: 'full' });
    expect(of(`remote: ${full.split('\n')[0]}\nerror: remote unpack failed\n`)).toMatchObject({ kind: 'full' });
  });

  it('is not misled by what a branch is named, and names the object format of a remote', () => {
    const updates =
      'From https://git.example/timeout\n - [deleted]         (none)     -> origin/fix-timeout\n' +
      ' * [new branch]      corrupt    -> origin/corrupt\n   1234567..89abcde  fsck       -> origin/fsck\n';
    expect(of(`${updates}fatal: something new\n`)).toMatchObject({ kind: 'other' });
    expect(of(`${updates}fatal: mismatched algorithms: client sha1; server sha256\n`)).toMatchObject({
      kind: 'format',
      code: 'E_REMOTE_CORRUPT',
      message: expect.stringContaining('another object format (sha256)'),
    });
  });

  it.each([
    ["remote: Repository not found.\nfatal: repository 'https://git.example/a/' not found\n", 'absent'],
    ['ERROR: Repository not found.\nfatal: Could not read from remote repository.\n', 'absent'],
    ['git@git.example: Permission denied (publickey).\nfatal: Could not read from remote repository.\n', 'credential'],
    ['Host key verification failed.\nfatal: Could not read from remote repository.\n', 'host-key'],
    [
      'remote: Permission to a/b.git denied to c.\nfatal: unable to access: The requested URL returned error: 403\n',
      'credential',
    ],
    [
      'error: RPC failed; curl 18 transfer closed\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n',
      'cut',
    ],
    ['error: inflate: data stream error\nfatal: pack has bad object at offset 12\nfatal: early EOF\n', 'damaged'],
    ['ssh: connect to host git.example port 22: Connection timed out\n', 'silent'],
    ['something new\n', 'other'],
  ])('%s', (stderr, kind) => {
    expect(of(stderr)).toMatchObject({ kind });
  });

  it('takes only what the remote said, without the token', () => {
    const said = remoteWords(
      'warning: ours\nremote: see token-1\u202e \u0007\r\nERROR: no\nfatal: /srv/data\n',
      'token-1',
    );
    expect(said).toBe('see ***\nERROR: no');
    expect(remoteWords('fatal: x\n')).toBeNull();
  });
});
