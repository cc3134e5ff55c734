/** What stays for a while: files that are shared, handed over or one's own, a cache, a stash. */
export const TEMPORARY = {
  'tmp:mine': [
    'tmp acceptance 1',
    'What an agent puts into myStuff exists for nobody else; the dropbox is read by its workspace and by no other.',
  ],
  'tmp:handed': ['tmp acceptance 2', 'What is handed to one agent is read by that one, and deleted by its writer too.'],
  'tmp:time': [
    'tmp acceptance 3',
    'What was put down is there until its time is over, also when every process was killed meanwhile; false comes back as false.',
  ],
  'tmp:quota': [
    'tmp acceptance 4',
    'Of more than has room, put at once, exactly what has room stays; two puts of one name leave one content whole.',
  ],
  'tmp:clear': ['tmp acceptance 5', 'A member clears its own files, and the answer says how many.'],
  'tmp:one-store': ['dropbox acceptance 1', 'The svc_brain_* names speak of the same files as the svc_tmp_* names.'],
  'tmp:stash': [
    'dropbox acceptance 4',
    'svc_brain_clear takes the stash and nothing else: every file of every kind is still there.',
  ],
  'tmp:names': ['rest of the brain, what must be seen 5', 'No hostile name reaches a disk, or breaks a call.'],
  'tmp:events': [
    'tmp',
    'Members of a workspace hear of its dropbox; of what is mine, or handed over, only those it concerns.',
  ],
} as const;
