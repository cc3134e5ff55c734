/** What may be called how, and what is said to whoever calls it otherwise. */
export const BRAIN_NAMES = {
  'names:everywhere': [
    'amendment M1',
    'A name of any script is written, read, listed, searched, told, committed, cloned and synced as what it is, or refused with the segment and the character at fault.',
  ],
  'names:islands': ['amendment M1', 'Whatever may name a file of islands/ may name an island.'],
  'names:composed': [
    'amendment M1',
    'A name that a person did not compose is found by its composed form and stays on disk as it is.',
  ],
  'names:confused': [
    'amendment M1',
    'A name that some file system takes for one in use is refused; names that differ are not.',
  ],
  'names:stem': [
    'amendment M5',
    'What was written under a name is found by that name; several of one stem are named, none is guessed.',
  ],
  'names:ignored': ['amendment M2', 'What the ignore files of a brain name is neither shown nor committed.'],
  'messages:missing': ['lessons, answers', 'A missing argument is said to be required, with the other names for it.'],
  'messages:settings': ['lessons, answers', 'A refusal for want of a setting names the setting.'],
  'messages:modes': [
    'lessons, answers',
    'Every mode that is offered answers; who asks for another is told which can be had.',
  ],
  'messages:brain': [
    'lessons, answers',
    'Who asks for a brain that is not there, or not for them, is told what to do.',
  ],
} as const;
