"""The core of Dissoi: what a question, a debate, a judge and a model are."""
