-- AlterTable
ALTER TABLE "brain"."brain_files" ADD COLUMN     "kind" TEXT NOT NULL DEFAULT 'text',
ADD COLUMN     "on_disk" TEXT,
ADD COLUMN     "problem" TEXT,
ALTER COLUMN "bytes" SET DATA TYPE BIGINT;
