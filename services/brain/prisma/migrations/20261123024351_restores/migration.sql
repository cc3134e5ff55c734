-- AlterTable
ALTER TABLE "brain"."brain_moves" ADD COLUMN     "staged" TEXT;
