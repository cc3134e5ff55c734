/** Index snapshots: a cache under `cache/`, written when a brain closes, that may be deleted at any time. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Platform } from '@svc/runtime/platform.ts';
import { ANALYSER_VERSION } from '../search/analysis.ts';
import type { AnalysisCache } from '../search/analysis-cache.ts';
import { RuledIndex } from '../search/ruled-index.ts';
import { SearchIndex } from '../search/search-index.ts';
import { decodeSnapshot, encodeSnapshot } from '../search/snapshot.ts';

/** The index as last saved, or an empty one; the caller brings it up to the files as they are. */
export async function loadIndex(
  directory: string,
  branch: string,
  cache: AnalysisCache,
  log: Platform['log'],
): Promise<RuledIndex> {
  try {
    const bytes = await readFile(snapshotFile(directory, branch));
    return new RuledIndex(decodeSnapshot(bytes, ANALYSER_VERSION, cache) ?? new SearchIndex(cache));
  } catch (error) {
    log.debug({ err: error }, 'no index snapshot');
    return new RuledIndex(new SearchIndex(cache));
  }
}

/** Never fails: a snapshot that cannot be written costs time at the next start, nothing else. */
export async function saveIndex(
  directory: string,
  branch: string,
  index: RuledIndex,
  log: Platform['log'],
): Promise<void> {
  const target = snapshotFile(directory, branch);
  try {
    await mkdir(directory, { recursive: true });
    await writeFile(`${target}.tmp`, encodeSnapshot(index.whole()));
    await rename(`${target}.tmp`, target);
  } catch (error) {
    await rm(`${target}.tmp`, { force: true }).catch(() => undefined);
    log.warn({ err: error }, 'an index snapshot could not be written');
  }
}

export async function dropIndex(directory: string, branch: string): Promise<void> {
  await rm(snapshotFile(directory, branch), { force: true });
}

function snapshotFile(directory: string, branch: string): string {
  return join(directory, `${branch.replaceAll('/', '+')}.index`);
}
