mod approval;
mod calls;
mod doubles;
mod durability;
mod flow;
mod harness;
mod interrupted;
mod limits;
