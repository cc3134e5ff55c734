/** Remotes of brains: bare repositories in a folder of their own, over file:// or from a host that wants a token. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git } from './git.ts';
import { HttpsGitRemote } from './https-git-remote.ts';

/** Of the host. */
export const HOST_TOKEN = 'host-token-that-must-show-up-nowhere';

interface Named {
  /** Known to brains by this name, over file://. */
  readonly filed: readonly string[];
  /** `owner/repo` at the host. */
  readonly hosted?: readonly string[];
}

export class GitRemotes {
  readonly folder: string;
  readonly host: HttpsGitRemote;
  readonly #filed: readonly string[];

  private constructor(folder: string, host: HttpsGitRemote, filed: readonly string[]) {
    this.folder = folder;
    this.host = host;
    this.#filed = filed;
  }

  static async open({ filed, hosted = [] }: Named): Promise<GitRemotes> {
    const folder = mkdtempSync(join(tmpdir(), 'svc-e2e-remotes-'));
    const host = await HttpsGitRemote.start(folder, HOST_TOKEN);
    const remotes = new GitRemotes(folder, host, filed);
    for (const name of [...filed, ...hosted]) git(folder, 'init', '-q', '--bare', '-b', 'main', remotes.bare(name));
    return remotes;
  }

  bare(name: string): string {
    return join(this.folder, `${name}.git`);
  }

  /** For a node that knows them, and others by their URLs. */
  settings(others: Readonly<Record<string, string>> = {}): Record<string, string> {
    const authority = join(this.folder, 'authority.pem');
    writeFileSync(authority, this.host.certificate);
    const urls = { ...Object.fromEntries(this.#filed.map((name) => [name, `file://${this.bare(name)}`])), ...others };
    return {
      SVC_SYNC_ALLOW_FILE: 'on',
      SVC_SYNC_REMOTES: Object.entries(urls)
        .map(([name, url]) => `${name}=${url}`)
        .join(','),
      SVC_SYNC_CA_FILE: authority,
      SVC_HOST_URL: this.host.url,
      HOST_TOKEN,
    };
  }

  /** Pushes to the brain's branch there; begins with `start`, or with `take`. */
  person(remote: string, brain: string) {
    const bare = this.bare(remote);
    const clone = mkdtempSync(join(this.folder, 'person-'));
    const branch = `brain/${brain}/main`;
    return {
      branch,
      push(files: Readonly<Record<string, string>>, ...options: readonly string[]): string {
        for (const [name, content] of Object.entries(files)) {
          mkdirSync(join(clone, name, '..'), { recursive: true });
          writeFileSync(join(clone, name), content);
        }
        git(clone, 'add', '-A');
        git(clone, 'commit', '-q', '-m', 'person');
        git(clone, 'push', '-q', ...options, bare, `HEAD:refs/heads/${branch}`);
        return git(clone, 'rev-parse', 'HEAD');
      },
      /** With nothing of what the brain has. */
      start: () => git(clone, 'init', '-q', '-b', 'main'),
      /** With what the brain has pushed. */
      take() {
        git(clone, 'init', '-q', '-b', 'main');
        git(clone, 'pull', '-q', bare, branch);
      },
      git: (...args: readonly string[]) => git(clone, ...args),
    };
  }

  async close(): Promise<void> {
    await this.host.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
