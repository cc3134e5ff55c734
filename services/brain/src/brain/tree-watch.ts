/** Watches a working tree for edits by people; what it misses, the regular scan finds. */
import { relative } from 'node:path';
import { isFilePath } from '@svc/contract/names.ts';
import { watch } from 'chokidar';

export interface TreeWatch {
  close(): Promise<void>;
}

const GATHER_MS = 50;

/** Calls back with paths (relative, legal ones) that may have changed, gathered over a moment. */
export function watchTree(root: string, onPaths: (paths: readonly string[]) => void): TreeWatch {
  const gathered = new Set<string>();
  let timer: NodeJS.Timeout | null = null;
  const watcher = watch(root, {
    ignoreInitial: true,
    followSymlinks: false,
    persistent: false,
    ignored: (path) => path !== root && !isFilePath(relative(root, path)),
  });
  watcher.on('all', (event, path) => {
    if (event === 'addDir' || event === 'unlinkDir') return;
    gathered.add(relative(root, path));
    timer ??= setTimeout(() => {
      timer = null;
      const paths = [...gathered];
      gathered.clear();
      onPaths(paths);
    }, GATHER_MS);
  });
  return {
    async close() {
      if (timer !== null) clearTimeout(timer);
      await watcher.close();
    },
  };
}
