/** What the disk itself takes for one durable file: temp file, fsync, rename, fsync of the directory. */
import { mkdir, open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quantile } from './figures.ts';

/** Milliseconds of one durable write after another, for so many seconds. */
export async function measureDisk(directory: string, seconds: number): Promise<{ p50Ms: number; p99Ms: number }> {
  await mkdir(directory, { recursive: true });
  const content = 'x'.repeat(500);
  const took: number[] = [];
  const endAt = performance.now() + seconds * 1000;
  for (let count = 0; performance.now() < endAt; count += 1) {
    const startedAt = performance.now();
    const temp = join(directory, '.temp');
    await writeFile(temp, content, { flush: true });
    await rename(temp, join(directory, `f${count % 500}.md`));
    const handle = await open(directory);
    await handle.sync();
    await handle.close();
    took.push(performance.now() - startedAt);
  }
  return { p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) };
}
