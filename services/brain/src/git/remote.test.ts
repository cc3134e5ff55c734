import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chmod, cp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findDamage } from './boot-repair.ts';
import {
  AT,
  AUTHOR,
  hasProgram,
  MERGE_LIMITS,
  makeTestBed,
  mustRead,
  saveFiles,
  type TestBed,
} from '../../testing/git-test-bed.ts';
import { planPull } from './integration.ts';
import { moveRefs, readRefs } from './refs.ts';
import { fetchRemote, pushBranch, readRemoteHeads, type Remote } from './remote.ts';
import { RemoteError } from './remote-error.ts';
import { serveRepositories, TestHost } from './remote-test-host.ts';
import { parseRemoteUrl } from './remote-url.ts';
import { openRepository, type Repository } from './repository.ts';
import { createGit } from './run.ts';

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

const fileRemote = (): Remote => remoteAt(`file://${bare}`);

async function push(repository: Repository, remote: Remote, branch = 'main') {
  const pushed = await pushBranch(repository, remote, { branch, commit: await mustRead(repository, branch), at: AT });
  return pushed.result;
}

/** A second node with its own copy of the brain. */
async function secondNode(): Promise<Repository> {
  const dir = join(bed.root, 'second');
  await cp(bed.repository.dir, dir, { recursive: true });
  return openRepository(createGit(), dir);
}

function code(action: Promise<unknown>): Promise<string> {
  return action.then(
    () => 'ok',
    (error: unknown) => (error instanceof RemoteError ? error.code : String(error)),
  );
}

function inBare(...args: string[]): string {
  const env = { ...process.env, ...PERSON };
  return execFileSync('git', ['--git-dir', bare, ...args], { encoding: 'utf8', input: '', env }).trim();
}

describe('file remotes', () => {
  it('pushes one exact commit and fetches it elsewhere', async () => {
    const second = await secondNode();
    const { commit } = await saveFiles(bed.repository, { 'x.md': '1' });
    expect(await push(bed.repository, fileRemote())).toBe('pushed');
    expect(await push(bed.repository, fileRemote())).toBe('up-to-date');
    expect(inBare('rev-parse', 'refs/heads/main')).toBe(commit);
    expect((await readRemoteHeads(bed.repository, fileRemote())).get('main')).toBe(commit);
    await fetchRemote(second, fileRemote());
    expect(await readRemoteHeads(second, fileRemote())).toEqual(new Map([['main', commit]]));
    second[Symbol.dispose]();
  });

  it('takes a history with the harmless flaws of old tools, and none that is dangerous, of which it says why', async () => {
    const write = (kind: string, input: Buffer | string): string => {
      const args = ['--git-dir', bare, 'hash-object', '-t', kind, '-w', '--stdin', '--literally'];
      return execFileSync('git', args, { encoding: 'utf8', input }).trim();
    };
    const file = write('blob', 'old');
    const entry = (mode: string, name: string, id: string): Buffer =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
    const folder = write('tree', entry('100644', 'x.md', file));
    const commit = (tree: string, by: string): string =>
      write('commit', `tree ${tree}\nauthor ${by}\ncommitter a <a@b> 1700000000 +0000\n\nold\n`);
    const flawed = new Map([
      ['zone', commit(folder, 'a <a@b> 1700000000 +051800')],
      ['space', commit(folder, 'a <a@b>1700000000 +0000')],
      ['mode', commit(write('tree', entry('040000', 'notes', folder)), 'a <a@b> 1700000000 +0000')],
    ]);
    for (const [branch, id] of flawed) writeFileSync(join(bare, 'refs/heads', branch), `${id}\n`);
    await fetchRemote(bed.repository, fileRemote());
    expect(await readRemoteHeads(bed.repository, fileRemote())).toEqual(flawed);
    const dangerous = commit(write('tree', entry('100644', '.git', file)), 'a <a@b> 1700000000 +0000');
    writeFileSync(join(bare, 'refs/heads/dangerous'), `${dangerous}\n`);
    await expect(fetchRemote(bed.repository, fileRemote())).rejects.toMatchObject({
      code: 'E_REMOTE_CORRUPT',
      message: 'The remote origin sent damaged or dangerous data (hasDotgit).',
    });
  });

  it('is no worse for a working tree that is being made meanwhile', async () => {
    const second = await secondNode();
    const { commit } = await saveFiles(bed.repository, { 'x.md': '1' });
    await push(bed.repository, fileRemote());
    // As git leaves it for a moment while it adds a working tree.
    const half = join(second.gitDir, 'worktrees', 'half');
    mkdirSync(half, { recursive: true });
    for (const [file, text] of Object.entries({ HEAD: '0'.repeat(40), commondir: '../..', gitdir: `${half}/x/.git` }))
      writeFileSync(join(half, file), `${text}\n`);
    setTimeout(() => writeFileSync(join(half, 'HEAD'), 'ref: refs/heads/main\n'), 500);
    await fetchRemote(second, fileRemote());
    expect(await readRemoteHeads(second, fileRemote())).toEqual(new Map([['main', commit]]));
    second[Symbol.dispose]();
  });

  it('is no worse for others that fetch at the same time', async () => {
    const second = await secondNode();
    for (let round = 0; round < 8; round += 1) {
      const { commit } = await saveFiles(bed.repository, { 'x.md': String(round) });
      await push(bed.repository, fileRemote());
      await Promise.all(Array.from({ length: 4 }, () => fetchRemote(second, fileRemote())));
      expect((await readRemoteHeads(second, fileRemote())).get('main')).toBe(commit);
    }
    second[Symbol.dispose]();
  });

  it('keeps to its prefix, and leaves other brains alone without one', async () => {
    const prefixed = { ...fileRemote(), name: 'host', prefix: 'brain/other/' };
    await push(bed.repository, prefixed);
    await push(bed.repository, fileRemote());
    expect(inBare('for-each-ref', '--format=%(refname)')).toBe('refs/heads/brain/other/main\nrefs/heads/main');
    await fetchRemote(bed.repository, prefixed);
    await fetchRemote(bed.repository, fileRemote());
    expect([...(await readRefs(bed.repository, 'refs/remotes/')).keys()]).toEqual(['host/main', 'origin/main']);
  });

  it('never forces: a remote that moved is answered as moved, a hook as rejected', async () => {
    const second = await secondNode();
    await saveFiles(bed.repository, { 'x.md': '1' });
    await push(bed.repository, fileRemote());
    await saveFiles(second, { 'y.md': '1' });
    expect(await push(second, fileRemote())).toBe('moved');
    await writeFile(join(bare, 'hooks', 'pre-receive'), '#!/bin/sh\necho secret >&2\nexit 1\n');
    await chmod(join(bare, 'hooks', 'pre-receive'), 0o755);
    await saveFiles(bed.repository, { 'x.md': '2' });
    expect(await code(push(bed.repository, fileRemote()))).toBe('E_REMOTE_REJECTED');
    second[Symbol.dispose]();
  });

  it('forgets branches that vanished at the remote, also when a name turns into a directory', async () => {
    await push(bed.repository, fileRemote());
    inBare('branch', 'a', 'main');
    await fetchRemote(bed.repository, fileRemote());
    inBare('branch', '-D', 'a');
    inBare('branch', 'a/b', 'main');
    await fetchRemote(bed.repository, fileRemote());
    expect([...(await readRemoteHeads(bed.repository, fileRemote())).keys()]).toEqual(['a/b', 'main']);
  });

  it('two nodes pushing in turns with clashes end on the same commit', async () => {
    const second = await secondNode();
    const nodes = [bed.repository, second];
    const integrate = async (repository: Repository, round: number): Promise<void> => {
      await fetchRemote(repository, fileRemote());
      const theirs = (await readRemoteHeads(repository, fileRemote())).get('main');
      if (theirs === undefined) return;
      const ours = await mustRead(repository, 'main');
      const plan = await planPull(repository, {
        branch: 'main',
        ours,
        theirs,
        source: 'origin/main',
        author: AUTHOR,
        at: AT,
        rescueSuffix: round.toString(16).padStart(8, '0'),
        limits: MERGE_LIMITS,
      });
      expect(await moveRefs(repository, plan.refs, AT)).toBe(true);
    };
    for (let round = 0; round < 10; round += 1) {
      for (const [index, node] of nodes.entries())
        await saveFiles(node, { 'x.md': `${round} ${index}\n`, [`${index}.md`]: `${round}` });
      const node = nodes[round % 2] ?? bed.repository;
      await integrate(node, round);
      expect(await push(node, fileRemote())).toBe('pushed');
    }
    for (const [index, node] of [...nodes, bed.repository].entries()) {
      await integrate(node, 100 + index);
      await push(node, fileRemote());
    }
    expect(await mustRead(second, 'main')).toBe(await mustRead(bed.repository, 'main'));
    second[Symbol.dispose]();
  });

  it('refuses data that fails the checks, and keeps nothing of it', async () => {
    const inner = inBare('mktree');
    const hidden = Buffer.concat([Buffer.from('40000 .git\0'), Buffer.from(inner, 'hex')]);
    const args = ['--git-dir', bare, 'hash-object', '-t', 'tree', '-w', '--literally', '--stdin'];
    const tree = execFileSync('git', args, { input: hidden, encoding: 'utf8' }).trim();
    inBare('update-ref', 'refs/heads/main', inBare('commit-tree', '-m', 'evil', tree));
    expect(await code(fetchRemote(bed.repository, fileRemote()))).toBe('E_REMOTE_CORRUPT');
    expect(await readRefs(bed.repository, 'refs/remotes/')).toEqual(new Map());
    expect(await findDamage(bed.repository, 'strict')).toBeNull();
  });

  it('names a repository that is not there absent', async () => {
    expect(await code(fetchRemote(bed.repository, remoteAt(`file://${bed.root}/none`)))).toBe('E_REMOTE_ABSENT');
    expect(await code(push(bed.repository, remoteAt(`file://${bed.root}/none`)))).toBe('E_REMOTE_ABSENT');
  });
});

const PERSON = { GIT_AUTHOR_NAME: 'p', GIT_AUTHOR_EMAIL: 'p@x', GIT_COMMITTER_NAME: 'p', GIT_COMMITTER_EMAIL: 'p@x' };

describe.skipIf(!hasProgram('openssl'))('https remotes', () => {
  const token = 'CANARY-0123456789';
  let host: TestHost;

  beforeAll(async () => {
    host = await TestHost.start();
  });
  afterAll(() => host.stop());
  beforeEach(() => {
    execFileSync('git', ['--git-dir', bare, 'config', 'http.receivepack', 'true']);
    host.handler = withAuth(serveGit);
  });

  const httpsRemote = (rest: Partial<Remote> = {}): Remote =>
    remoteAt(`${host.origin}/remote.git`, { caFile: host.certificateFile, credential: { token }, ...rest });
  const serveGit: RequestListener = (request, response) => serveRepositories(bed.root, request, response);
  const withAuth =
    (next: RequestListener): RequestListener =>
    (request, response) => {
      const expected = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
      if (request.headers.authorization === expected) next(request, response);
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    };

  it('authenticates through the askpass helper; the token is nowhere on disk', async () => {
    const { commit } = await saveFiles(bed.repository, { 'x.md': '1' });
    expect(await push(bed.repository, httpsRemote())).toBe('pushed');
    await fetchRemote(bed.repository, httpsRemote());
    expect((await readRemoteHeads(bed.repository, httpsRemote())).get('main')).toBe(commit);
    expect(await grepTree(bed.root, token)).toEqual([]);
  });

  it('tells a refused credential, a missing one, and an untrusted certificate', async () => {
    expect(await code(fetchRemote(bed.repository, httpsRemote({ credential: { token: 'wrong' } })))).toBe(
      'E_REMOTE_AUTH',
    );
    const { credential: _, ...anonymous } = httpsRemote();
    expect(await code(fetchRemote(bed.repository, anonymous))).toBe('E_REMOTE_AUTH');
    const { caFile: __, ...untrusting } = httpsRemote();
    expect(await code(fetchRemote(bed.repository, untrusting))).toBe('E_REMOTE_TLS');
  });

  it('follows no redirect and sends the token to no other origin', async () => {
    const seen: (string | undefined)[] = [];
    const thief = await TestHost.start();
    thief.handler = (request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    };
    const elsewhere = thief.origin;
    host.handler = withAuth((request, response) =>
      response.writeHead(302, { location: `${elsewhere}${request.url}` }).end(),
    );
    expect(await code(fetchRemote(bed.repository, httpsRemote()))).toBe('E_REMOTE_UNREACHABLE');
    expect(seen).toEqual([]);
    await thief.stop();
  });

  it('answers hangs, resets and rubbish with a code, the repository unchanged', async () => {
    await saveFiles(bed.repository, { 'x.md': '1' });
    const before = await readRefs(bed.repository, 'refs/');
    host.handler = () => undefined;
    expect(await code(fetchRemote(bed.repository, httpsRemote({ silenceMs: 500 })))).toBe('E_REMOTE_UNREACHABLE');
    host.handler = (request) => request.socket.destroy();
    expect(await code(fetchRemote(bed.repository, httpsRemote()))).toBe('E_REMOTE_UNREACHABLE');
    host.handler = (_, response) =>
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).end('rubbish');
    expect(await code(fetchRemote(bed.repository, httpsRemote()))).toBe('E_REMOTE_CORRUPT');
    host.handler = (_, response) => response.writeHead(500).end();
    expect(await code(push(bed.repository, httpsRemote()))).toBe('E_REMOTE_UNREACHABLE');
    expect(await readRefs(bed.repository, 'refs/')).toEqual(before);
    expect(await findDamage(bed.repository, 'strict')).toBeNull();
  });

  it('notices a damaged pack', async () => {
    await push(bed.repository, fileRemote());
    inBare('update-ref', 'refs/heads/more', inBare('commit-tree', '-p', 'main', '-m', 'more', 'main^{tree}'));
    const corrupt: RequestListener = (request, response) => {
      const end = response.end.bind(response);
      response.end = ((chunk: Buffer) => {
        const at = chunk.indexOf('PACK');
        if (at > 0) chunk.fill(0x5a, at + 14, at + 60);
        return end(chunk);
      }) as typeof response.end;
      serveGit(request, response);
    };
    host.handler = withAuth((request, response) => {
      const isPack = request.method === 'POST' && request.url?.includes('git-upload-pack') === true;
      (isPack ? corrupt : serveGit)(request, response);
    });
    expect(await code(fetchRemote(bed.repository, httpsRemote()))).toBe('E_REMOTE_CORRUPT');
    expect([...(await readRemoteHeads(bed.repository, httpsRemote())).keys()]).toEqual(['main']);
    expect(await findDamage(bed.repository, 'strict')).toBeNull();
  });
});

it('ships the askpass helper executable, and it answers one origin only', async () => {
  const helper = join(import.meta.dirname, 'askpass.sh');
  expect((await stat(helper)).mode & 0o111).toBe(0o111);
  const ask = (question: string) => {
    try {
      return execFileSync(helper, [question], {
        encoding: 'utf8',
        env: { SVC_ASKPASS_ORIGIN: 'https://h:1', SVC_ASKPASS_USER: 'u', SVC_ASKPASS_TOKEN: 't$(id)*' },
      });
    } catch {
      return null;
    }
  };
  expect(ask("Username for 'https://h:1': ")).toBe('u\n');
  expect(ask("Password for 'https://u@h:1': ")).toBe('t$(id)*\n');
  for (const question of [
    "Password for 'https://u@h:2': ",
    "Password for 'http://u@h:1': ",
    "Password for 'https://u@h:1.evil': ",
    "Username for 'https://H:1': ",
    'Password: ',
  ]) {
    expect(ask(question)).toBeNull();
  }
});

it.skipIf(!hasProgram('ssh'))(
  'an ssh remote that does not answer is unreachable, and never asks for a password',
  async () => {
    const listener = createTcpServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => {
      listener.listen(0, '127.0.0.1', resolve);
    });
    const { port } = listener.address() as AddressInfo;
    expect(await code(fetchRemote(bed.repository, remoteAt(`ssh://git@127.0.0.1:${port}/o/r.git`)))).toBe(
      'E_REMOTE_UNREACHABLE',
    );
    listener.close();
  },
);

async function grepTree(dir: string, needle: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path)).includes(needle)) found.push(path);
  }
  return found;
}
