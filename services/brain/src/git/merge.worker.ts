/** A thread that merges the versions of one text after the other. */
import { parentPort } from 'node:worker_threads';
import { type FileVersions, mergeFile } from '../domain/merge/file.ts';

parentPort?.on('message', (versions: FileVersions) => parentPort?.postMessage(mergeFile(versions), []));
