-- AlterTable
ALTER TABLE "brain"."brain_resolutions" ADD COLUMN     "workspace" TEXT;
