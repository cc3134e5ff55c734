import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { git } from './git.ts';
import { HttpsGitRemote } from './https-git-remote.ts';

test('git pushes and clones over it with its certificate and token, and not without', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-https-'));
  const remote = await HttpsGitRemote.start(folder, 'secret');
  onTestFinished(async () => {
    await remote.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  git(folder, 'init', '-q', '--bare', '-b', 'main', join(folder, 'owner/repo.git'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, remote.certificate);
  const work = join(folder, 'work');
  git(folder, 'init', '-q', '-b', 'main', work);
  git(work, 'commit', '-q', '--allow-empty', '-m', 'first');
  const push = (token: string, ...options: readonly string[]) =>
    promisify(execFile)(
      'git',
      [...options, 'push', `${remote.url.replace('https://', `https://x:${token}@`)}/owner/repo`, 'main'],
      { cwd: work, env: { PATH: process.env['PATH'], GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1' } },
    );
  const trusting = ['-c', `http.sslCAInfo=${authority}`];
  await expect(push('secret')).rejects.toThrow();
  await expect(push('wrong', ...trusting)).rejects.toThrow(/Authentication failed/);
  await push('secret', ...trusting);
  expect(
    execFileSync('git', ['log', '-1', '--format=%s', 'main'], {
      cwd: join(folder, 'owner/repo.git'),
      encoding: 'utf8',
    }),
  ).toBe('first\n');
});
