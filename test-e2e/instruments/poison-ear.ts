/** Hears whether anything that is hidden is told, by answers, events, logs and metrics. */
import { codeOf, type Fields, isFields, type Reply } from '../client.ts';
import { git } from './git.ts';

/** Hidden from everybody, and hidden from who is no admin. Nothing else in the run is spelled like these. */
export const MASKED = 'h1dden';
export const SHUT = 'shutw0rd';

export type Ask = readonly [tool: string, args: Fields];

const LATE = ['SERVICE_UNAVAILABLE', 'TIMEOUT', 'E_OUTCOME_UNKNOWN'];

/** What answers say: the texts that were hidden, and every hash and commit that was told. */
export class Ear {
  readonly traces: string[] = [];
  /** Hash -> who told it first. */
  readonly hexes = new Map<string, string>();
  readonly commits = new Set<string>();
  answers = 0;
  late = 0;

  hear(what: string, text: string, isAdmin: boolean): void {
    const isTold = text.includes(MASKED) || (!isAdmin && text.includes(SHUT)) || (!isAdmin && text.includes('shut/'));
    if (isTold) this.traces.push(`${what}: ${excerpt(text)}`);
    for (const [hex] of text.matchAll(/(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])/g))
      if (!this.hexes.has(hex)) this.hexes.set(hex, what);
  }

  answer([tool, args]: Ask, reply: Reply, isAdmin: boolean): void {
    this.answers += 1;
    const what = `${tool} ${JSON.stringify(args).slice(0, 200)}`;
    const code = codeOf(reply);
    // A busy machine may be late; what it must not do is fail.
    if (code !== null && LATE.includes(code)) this.late += 1;
    else if (reply.status >= 500 || code === 'INTERNAL')
      this.traces.push(`${what}: ${reply.status} ${reply.text.slice(0, 200)}`);
    // The question itself may name what it looks for.
    this.hear(
      what,
      reply.text.replaceAll(JSON.stringify(args['query'] ?? args['name'] ?? args['file'] ?? ''), '""'),
      isAdmin,
    );
    const content = reply.body.result?.['content'];
    const rows = isFields(content) && Array.isArray(content['history']) ? (content['history'] as Fields[]) : [];
    for (const { commit } of rows) this.commits.add(String(commit));
  }
}

function excerpt(text: string): string {
  const at = Math.max(text.indexOf(MASKED), text.indexOf(SHUT), text.indexOf('shut/'));
  return text.slice(Math.max(0, at - 120), at + 80);
}

/**
 * Ids of all commits and trees, and of the files that are not open. Not the first, empty commit: it holds nothing, and
 * brains that are made in one second share it.
 */
export function hiddenObjects(folder: string): string[] {
  const first = git(folder, 'rev-list', '--max-parents=0', '--all').split('\n');
  const empty = new Set(first.filter((commit) => git(folder, 'ls-tree', commit) === ''));
  const lines = git(folder, 'rev-list', '--objects', '--all').split('\n');
  const isOpen = (path: string): boolean => path.startsWith('open/') && /\.\w+$/.test(path);
  return lines.flatMap((line) => {
    const [id = '', ...path] = line.split(' ');
    return isOpen(path.join(' ')) || empty.has(id) ? [] : [id];
  });
}

/** The bytes of a hidden file may be those of an open one too, whose id anybody may know. */
export function isOfOpenFile(folder: string, id: string): boolean {
  if (git(folder, 'cat-file', '-t', id).trim() !== 'blob') return false;
  const shown = ['--all', '-m', '--root', '--no-renames', '--format=', '--name-only', `--find-object=${id}`];
  return git(folder, 'log', ...shown)
    .split('\n')
    .some((path) => path.startsWith('open/'));
}
