/** What the search index takes in memory beside the bytes of the text, as the process and as the service count it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CORPORA, type Corpus } from '@svc/testing/index-corpora.ts';
import { callTool } from './call.ts';
import { markdownTable, mebibytes, shown } from './figures.ts';
import { AUTHORISED, startEmbedded, type System, temporaryDataDir } from './system.ts';

const TEXT_BYTES = 12 * 1024 * 1024;
const SETTLE_MS = 3_000;
/**
 * On a large machine the engine lets garbage pile up to 192 MiB before it looks at it, which would hide what is measured; of a
 * container of 1 GiB it takes no more than this.
 */
const AS_IN_A_CONTAINER = { NODE_OPTIONS: '--max-semi-space-size=16' };

/** Resolves with a Markdown table. Each corpus is put into the folder of a brain as an editor would. */
export async function measureIndexMemory(): Promise<string> {
  const rows: string[][] = [];
  for (const corpus of CORPORA) rows.push(await measureCorpus(corpus));
  const header = ['corpus', 'text', 'index, as health tells', 'RSS more than empty', 'aim'];
  return markdownTable(header, rows);
}

async function measureCorpus({ name, isProse, file }: Corpus): Promise<string[]> {
  const dataDir = temporaryDataDir();
  const system = await startEmbedded(dataDir.path, AS_IN_A_CONTAINER);
  await search(system);
  await delay(SETTLE_MS);
  const emptyBytes = residentBytes(system);
  const bytes = fill(join(dataDir.path, 'brains', 'svc'), file);
  await search(system);
  await delay(SETTLE_MS);
  const { index } = (await ask(system, 'svc_health', {})) as { index: { bytes: number } };
  const grown = residentBytes(system) - emptyBytes;
  await system.stop();
  dataDir.remove();
  const times = (part: number): string => `${mebibytes(part)} = ${shown(part / bytes, 1)} x`;
  return [name, mebibytes(bytes), times(index.bytes), times(grown), isProse ? '<= 12 x' : '<= 30 x'];
}

function fill(folder: string, file: Corpus['file']): number {
  let bytes = 0;
  for (let number = 0; bytes < TEXT_BYTES; number += 1) {
    const { path, content } = file(number);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
    bytes += Buffer.byteLength(content);
  }
  return bytes;
}

function residentBytes({ brains }: System): number {
  return brains.reduce((sum, one) => sum + one.residentBytes(), 0);
}

function search(system: System): Promise<unknown> {
  return ask(system, 'svc_search', { query: 'a' });
}

async function ask({ urls: [url = ''] }: System, tool: string, args: Readonly<Record<string, unknown>>) {
  return (await callTool(url, AUTHORISED, tool, args)).content;
}
