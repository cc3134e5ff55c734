/** Worlds, manifests, resumes. */
export const WORLDS = {
  'worlds:derived': [
    'universe acceptance: worlds 1; universe acceptance: worlds 2',
    'A world and its forks are derived alike by every call through every gateway, byte for byte, as the contract computes them.',
  ],
  'worlds:names': [
    'universe acceptance: worlds 3',
    'What is no name of a world, of a child or of a universe is refused with its code.',
  ],
  'worlds:universe': [
    'universe acceptance: worlds 4',
    'A node whose environment names a universe is in that one, and a call that names it is told the same fingerprint.',
  ],
  'worlds:recorded': [
    'universe acceptance: worlds 5',
    'A manifest is stored once however often and at once it is recorded; its differences are told key by key.',
  ],
  'worlds:differ': [
    'universe acceptance: worlds 6',
    'Manifests of other universes and other worlds are not compared, and a beginning that two ids share names neither.',
  ],
  'worlds:changed': [
    'universe acceptance: worlds 7',
    'A stored manifest of which one byte was changed by hand is never served, and nothing is billed for it.',
  ],
  'worlds:resumed': [
    'universe acceptance: worlds 8',
    'A resume leaves a marker and says whether the cells are as they were; materialized, they are written and billed once.',
  ],
  'worlds:budget': [
    'universe acceptance: worlds 9',
    'Who does not have what materializing costs is refused, and no file and no balance changes.',
  ],
  'worlds:given-back': [
    'universe: resume',
    'What was paid for files that the brain then does not take is given back, and is told.',
  ],
  'worlds:locked': [
    'universe acceptance: worlds 10',
    'Under the lease of somebody else nothing is resumed, recorded or billed; who holds the lease goes on under it.',
  ],
  'worlds:brainless': [
    'universe acceptance: worlds 10',
    'While the brain does not answer nothing is resumed or billed.',
  ],
  'worlds:killed': [
    'universe acceptance: worlds 11',
    'Over kills of the universe, of the brain and of the ledger what is spent is five times the resumes that were finished.',
  ],
} as const;
