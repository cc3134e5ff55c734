import { open } from 'node:fs/promises';

/** A name that is made, changed or taken away outlives a power cut only after this. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
