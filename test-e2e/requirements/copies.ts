/** Backups of brains. */
export const COPIES = {
  'backup:restored': [
    'dropbox acceptance 2; dropbox acceptance 3',
    'References, files, uncommitted work, islands, citations and resolutions come back as they were; the newer tip stays readable.',
  ],
  'backup:damaged': [
    'brain dropbox',
    'A backup with one changed byte, or cut off, is E_BACKUP_CORRUPT and changes nothing; a path out of the folder is blocked.',
  ],
  'backup:hidden': ['brain dropbox', 'Whoever may not read all of a brain makes no backup of it.'],
  'backup:under-writes': ['brain dropbox', 'A backup that is taken while others write shows one moment of the brain.'],
  'backup:fresh': [
    'brain dropbox',
    'A brain with a history that is backed up under writes has, on a node that never had it, the trees, references and rows of one moment; of paths between brains it has none.',
  ],
  'backup:home': [
    'brain dropbox',
    'A brain that is made from a backup is at home where it was: closed to other workspaces when it was; without that workspace it is refused, and none is made.',
  ],
  'backup:killed': [
    'brain dropbox',
    'A kill in the middle of a backup or restore leaves the old or the new brain, whole, and no half backup.',
  ],
} as const;
