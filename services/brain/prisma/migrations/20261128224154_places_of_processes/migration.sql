-- AlterTable
ALTER TABLE "brain"."brain_processes" ADD COLUMN     "deployment" TEXT,
ADD COLUMN     "directory" TEXT;
