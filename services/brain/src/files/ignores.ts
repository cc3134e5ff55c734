/** What of a working tree git would not show: untracked entries that its ignore files name. */
export interface Ignores {
  /** `onDisk` relative to the root; by itself, or because a directory above it is. */
  isIgnored(onDisk: string, isDirectory: boolean): boolean;
  /** An ignore file may have changed. */
  changed(onDisk: string): void;
}
