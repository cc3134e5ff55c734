/** The bed that all tests of a file share. */
import { afterAll } from 'vitest';
import { type BrainTestBed, openBrainTestBed } from './brain-test-bed.ts';

/** Ends after the last test of the file, with what still runs on it. */
export async function bedOfFile(): Promise<BrainTestBed> {
  const bed = await openBrainTestBed();
  afterAll(() => bed[Symbol.asyncDispose]());
  return bed;
}
