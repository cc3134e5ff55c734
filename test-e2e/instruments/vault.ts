/** A vault of notes as people keep one: ordinary names of many scripts, attachments, and what programs leave beside them. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

type Kind = 'text' | 'large' | 'binary' | 'link' | 'other';

interface VaultEntry {
  /** As it lies on disk. */
  readonly path: string;
  readonly kind: Kind;
  /** Whether a commit takes it when nobody has asked git for it. */
  readonly isTaken: boolean;
  /** What an edit leaves; a link's is its target. */
  readonly content: Buffer;
  readonly isExecutable?: boolean;
}

const MIB = 1024 * 1024;
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const note = (title: string) => `# ${title}\n\nWhat is known of ${title}, and a [[link]] to more.\n`;
const text = (path: string, content = note(path)): VaultEntry => made(path, 'text', content);
const made = (path: string, kind: Kind, content: string | Buffer): VaultEntry => ({
  path,
  kind,
  isTaken: kind !== 'link' && !path.split('/').some((segment) => segment.startsWith('.')),
  content: Buffer.from(content),
});

/** Everything that is to be accounted for: 43 entries. */
export const VAULT: readonly VaultEntry[] = [
  text('Index.md'),
  text('Äpfel.md'),
  text('Notes (copy).md'),
  text("John's.md"),
  text('C++.md'),
  text('_private.md'),
  text('日本.md'),
  text('Cafe\u0301.md'),
  text('🚀 launch.md'),
  text('Ωmega & αlpha.md'),
  text('ملاحظات.md'),
  text('50% done, #1 [draft].md'),
  text('Daily/2026-01-01.md'),
  text('Daily/2026-01-02.md'),
  text('Projects/Größe/Plan 2.0/sub/deep/note.md'),
  text('Projects/tasks.txt', 'one\ntwo\n'),
  text('empty.md', ''),
  text('crlf.md', '# Lines\r\n\r\nas Windows ends them\r\n'),
  text('Board.canvas', '{"nodes":[{"id":"a","type":"text","text":"hello"}],"edges":[]}'),
  text('data/table.csv', 'a,b\n1,2\n'),
  text('data/settings.yaml', 'theme: dark\n'),
  text('data/state.json', '{"open": true}\n'),
  { ...text('bin/export.sh', '#!/bin/sh\necho export\n'), isExecutable: true },
  made('Log of years.md', 'large', `# Log\n\n${'another day, another line\n'.repeat(50_000)}`),
  made('Papers/paper.pdf', 'binary', Buffer.concat([Buffer.from('%PDF-1.7\n\0'), Buffer.alloc(3 * MIB, 7)])),
  made('attachments/Pasted image 20260101.png', 'binary', PNG),
  made('attachments/photo.png', 'binary', Buffer.concat([PNG, Buffer.from([1])])),
  made('attachments/voice.m4a', 'binary', Buffer.concat([Buffer.alloc(5000, 3), Buffer.from([0])])),
  made('from windows.md', 'binary', Buffer.from('\ufeff# From Windows\r\n', 'utf16le')),
  made('.obsidian/app.json', 'text', '{"vimMode": true}'),
  made('.obsidian/appearance.json', 'text', '{}'),
  made('.obsidian/workspace.json', 'text', '{"main": {}}'),
  made('.obsidian/plugins/calendar/main.js', 'text', 'module.exports = {};\n'),
  made('.trash/old note.md', 'text', note('old')),
  made('.DS_Store', 'binary', Buffer.from([0, 0, 0, 1, 66, 117, 100, 49])),
  made('.gitignore', 'text', '*.tmp\ncache/\n'),
  made('Latest.md', 'link', 'Index.md'),
  made('All projects', 'link', 'Projects'),
  made('Really?.md', 'other', note('a name that other systems refuse')),
  made('Call at 10:30.md', 'other', note('another such name')),
  made('CON.md', 'other', note('a device')),
  made('-dash.md', 'other', note('an option')),
  made('Archive/all.tar', 'binary', Buffer.alloc(20_000)),
];

/** Git ignores them, and so does everything else. */
export const IGNORED: readonly VaultEntry[] = [made('scratch.tmp', 'text', 'x'), made('cache/page.html', 'text', 'x')];

export function put(folder: string, entries: readonly VaultEntry[]): void {
  for (const { path, kind, content, isExecutable } of entries) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    if (kind === 'link') symlinkSync(content.toString(), file);
    else writeFileSync(file, content);
    if (isExecutable === true) chmodSync(file, 0o755);
  }
}
