/** What holds when the disk, or a person at it, takes something away. */
export const DISK = {
  'disk:full': [
    'brain files',
    'On a full disk every change is E_STATE_WRITE, reads go on, health names it; with space again all goes on by itself.',
  ],
  'disk:restore': [
    'brain files',
    'A restore, or the first write to a branch, that finds too little room is E_STATE_WRITE wherever it ends, and leaves nothing.',
  ],
  'disk:read-only': [
    'brain files',
    'A file system that becomes read-only gives typed refusals; nothing is half done, and all goes on when it is over.',
  ],
  'disk:permission': [
    'brain files',
    'A file that may not be replaced refuses its own writes alone, and health names it until a write works again.',
  ],
  'disk:index-lock': [
    'brain files',
    'A lock that a person left on the index keeps nobody from committing, and is gone from the way when it is removed.',
  ],
  'disk:folder-removed': [
    'brain files',
    'A brain whose folder is removed is BRAIN_LOAD_FAIL, the others are served; put back, it opens with what is in it.',
  ],
  'disk:repository-damaged': [
    'brain files',
    'A brain whose repository is removed or damaged is BRAIN_LOAD_FAIL 503 with the reason, for those who may see it.',
  ],
} as const;
