/** A branch as an area of files: directories, bytes of any kind, several files in one step. */
export const STORAGE = {
  'storage:bytes': [
    'storage',
    'Bytes of any kind come back as they were, on disk, on every process, and from a commit.',
  ],
  'storage:rm': [
    'storage acceptance 1; storage acceptance 4',
    'A directory with files goes only when all of it is meant, and then as a whole; the root never does.',
  ],
  'storage:links': ['storage acceptance 2', 'What a link leads to is neither shown nor touched.'],
  'storage:rows': [
    'storage acceptance 3',
    'What one may not read is left out of copies and lists, and keeps the directory it lies in from being removed.',
  ],
  'storage:crash': ['storage, journal', 'kill -9 inside of copying or removing a directory leaves all of it or none.'],
  'storage:names': [
    'rest of the brain, what must be seen 5',
    'No hostile name touches anything outside, or breaks a call.',
  ],
  'notes:core': [
    'dropbox acceptance 5',
    'A core note is a file at the root of the brain, which contexts show; one with directories is refused.',
  ],
  'skills:prototypes': [
    'skill prototypes acceptance 1',
    'A written prototype is listed at once and loads byte for byte; who may not read it is told that there is none.',
  ],
  'stego:hidden': [
    'stego acceptance 1',
    'A message hidden in a PNG comes back with its password alone, and only low bits of the picture differ.',
  ],
  'stego:capacity': ['stego acceptance 2', 'What has no room in a picture is refused, and no file is made.'],
  'stego:hostile': [
    'stego acceptance 3',
    'A picture without a message, with a changed one, of huge size or inflating without end is refused by a code, at a bounded cost of memory.',
  ],
  'stego:outside': [
    'stego acceptance 4; amendment M24',
    'Where a picture is to be written to a place outside, or where a link lies, nothing is written.',
  ],
} as const;
