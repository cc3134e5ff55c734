/** Real Markdown: what the installed packages bring along, each text once, under legal names. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldCase, isFilePath } from '@svc/contract/names.ts';
import { MAX_CONTENT_BYTES } from '@svc/contract/params.ts';
import { PROJECT } from '../process.ts';

export interface Document {
  /** Path in the brain. */
  readonly path: string;
  readonly content: string;
}

/** Longer documents are cut into their chapters, each a file. */
const WHOLE_UP_TO_BYTES = 6000;
const MAX_SEGMENT = 80;
const MAX_SEGMENTS = 7;

/** The same documents in the same order, as long as the same packages are installed. */
export function readCorpus(): Document[] {
  const documents: Document[] = [];
  const texts = new Set<string>();
  const names = new Set<string>();
  for (const file of markdownFiles(join(PROJECT, 'node_modules'))) {
    const text = textOf(readFileSync(file));
    if (text === null) continue;
    const inPackage = file.slice(file.lastIndexOf('/node_modules/') + '/node_modules/'.length);
    for (const { title, content } of chapters(text)) {
      const digest = hash('sha256', content);
      if (texts.has(digest)) continue;
      texts.add(digest);
      documents.push({ path: freeName(inPackage, title, names), content });
    }
  }
  return documents;
}

/** In order of their names; links are not followed, so each package is met once. */
function markdownFiles(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true });
  const found = entries.flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return markdownFiles(path);
    return entry.isFile() && /\.(md|markdown)$/i.test(entry.name) ? [path] : [];
  });
  return found.sort();
}

/** Null for what the brain does not keep as text. */
function textOf(bytes: Uint8Array): string | null {
  if (bytes.byteLength === 0 || bytes.byteLength > MAX_CONTENT_BYTES || bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** `title` null = the whole document or what precedes its first chapter. */
function chapters(text: string): { title: string | null; content: string }[] {
  if (Buffer.byteLength(text) <= WHOLE_UP_TO_BYTES) return [{ title: null, content: text }];
  return text
    .split(/^(?=## )/m)
    .filter((content) => content.trim() !== '')
    .map((content) => ({ title: /^## (.*)/.exec(content)?.[1] ?? null, content }));
}

/** A legal path that no other document has, made from the place in the package and the chapter's title. */
function freeName(inPackage: string, title: string | null, taken: Set<string>): string {
  const place = inPackage.replace(/\.[a-z]+$/i, '');
  const wished = (title === null ? place : `${place}-chapters/${title}`).split('/').map(legalSegment);
  const short = wished.length <= MAX_SEGMENTS ? wished : [...wished.slice(0, MAX_SEGMENTS - 1), wished.at(-1) ?? ''];
  const stem = short.join('/');
  const base = isFilePath(`${stem}.md`) ? stem : `documents/${hash('sha256', stem).slice(0, 16)}`;
  for (let attempt = 1; ; attempt += 1) {
    const path = `${base}${attempt === 1 ? '' : `-${attempt}`}.md`;
    if (taken.has(foldCase(path))) continue;
    taken.add(foldCase(path));
    return path;
  }
}

function legalSegment(text: string): string {
  const letters = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SEGMENT);
  return letters.replaceAll(/^-+|-+$/g, '') || 'untitled';
}
