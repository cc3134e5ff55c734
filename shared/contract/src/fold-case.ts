/** What file systems take for the same name. */

// Unicode's full case folding leaves the dotless i alone, and so do APFS, NTFS and ext4; upper case would make it an i.
const WITHOUT_DOTLESS_I = /[^\u0131]+/gu;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}+/gu;

/**
 * Two names that fold to the same text would be one file on some file system: equal after compatibility composition and
 * full case folding (ß = ss, ς = σ), without what HFS+ and ext4 ignore. Of a path each segment is folded by itself.
 */
export function foldCase(name: string): string {
  if (isAscii(name)) return name.toLowerCase();
  return name.split('/').map(foldSegment).join('/');
}

function foldSegment(segment: string): string {
  const lower = segment.replace(IGNORABLE, '').normalize('NFKC').replace(IGNORABLE, '').toLowerCase();
  // Upper case spells out what lower case keeps as one letter; at the end of a word lower case makes another sigma.
  const folded = lower.replace(WITHOUT_DOTLESS_I, (text) => text.toUpperCase().toLowerCase()).replaceAll('ς', 'σ');
  // A full-width solidus is no separator.
  return folded.normalize('NFKC').replaceAll('/', '\u2044');
}

/** Most names are, and are asked for with every write. */
export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}
